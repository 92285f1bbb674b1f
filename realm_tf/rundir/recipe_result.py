"""realm.json in a recipe's RUN_DIR: the model, corpus and search to use.

  {"model_dir": "qa", "corpus_dir": "corpus", "sparse_weight": 0.5}

Paths are relative to RUN_DIR.
"""

from collections.abc import Collection
import os
from typing import Any

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text

NAME = 'realm.json'
_KINDS: dict[str, type] = {
  'model_dir': str,
  'corpus_dir': str,
  'index_dir': str,
  'reader_dir': str,
  'pretrained_dir': str,
  'retriever': str,
  'sparse_weight': float,
  'num_read': int,
  'best_effort': bool,
}
_SEARCH = {'retriever', 'sparse_weight'}


def read(directory: str, given: Collection[str] = ()) -> dict[str, Any]:
  """Returns the values by the names of flags; {} if there is no realm.json.

  Values of `given` are left out; a given search replaces the whole search.
  """
  path = os.path.join(directory, NAME)
  if not os.path.exists(path):
    return {}
  values = json_text.parse_object(input_files.read(path), path)
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
  return found
