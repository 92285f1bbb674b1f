"""A recipe's RUN_DIR: the model, corpus and search to use, and examples.

  realm.json     {"model_dir": "qa", "corpus_dir": "corpus", "num_read": 2}
  examples.json  {"questions": ["..."], "masked": ["... [MASK] ..."]}

Paths in realm.json are relative to RUN_DIR.
"""

from collections.abc import Collection
import os
from typing import Any

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.run import json_shapes

NAME = 'realm.json'
EXAMPLES = 'examples.json'
_KINDS: dict[str, type] = {
  'model_dir': str,
  'corpus_dir': str,
  'index_dir': str,
  'reader_dir': str,
  'pretrained_dir': str,
  'retriever': str,
  'sparse_weight': float,
  'num_read': int,
  'answer_by': str,
  'best_effort': bool,
}
_SEARCH = {'retriever', 'sparse_weight'}
_EXAMPLES = dict.fromkeys(
  ('questions', 'masked'), json_shapes.list_of(json_shapes.TEXT)
)


def read(directory: str, given: Collection[str] = ()) -> dict[str, Any]:
  """Returns the values by the names of flags; {} if there is no realm.json.

  `examples` is the path of examples.json, if there is one. Values of `given`
  are left out; a given search replaces the whole search.
  """
  path = os.path.join(directory, NAME)
  if not os.path.exists(path):
    return {}
  values = json_text.parse_object(input_files.read(path), path)
  if unknown := sorted(values.keys() - _KINDS.keys()):
    raise errors.UserError(
      f'{path} may have only {", ".join(_KINDS)}. Found {unknown[0]!r:.60}. '
      'Run the recipe again, with this version.'
    )
  replaced = {*given} if _SEARCH.isdisjoint(given) else {*given, *_SEARCH}
  found = {}
  for name, kind in _KINDS.items():
    value: Any = values.get(name)
    if value is None or name in replaced:
      continue
    if kind is float and type(value) is int:
      value = float(value)
    if not isinstance(value, kind):
      raise errors.UserError(
        f'{path} must have a {kind.__name__} as "{name}". Found {value!r:.60}. '
        'Run the recipe again.'
      )
    is_path = name.endswith('_dir')
    found[name] = os.path.join(directory, str(value)) if is_path else value
  examples = os.path.join(directory, EXAMPLES)
  if 'examples' not in given and os.path.exists(examples):
    found['examples'] = examples
  return found


def read_examples(path: str) -> dict[str, list[str]]:
  """Returns texts that the model answers: "questions" and "masked"."""
  values = json_text.parse_object(input_files.read(path), path)
  return json_shapes.check(values, _EXAMPLES, path, 'Run the recipe again.')
