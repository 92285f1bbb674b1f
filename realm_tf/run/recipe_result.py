"""A recipe's RUN_DIR: the model, corpus and search to use, and examples.

  realm.json     {"model_dir": "qa", "corpus_dir": "corpus", "num_read": 2}
  examples.json  {"questions": ["..."], "masked": ["... [MASK] ..."]}

Paths in realm.json are relative to RUN_DIR.
"""

from collections.abc import Collection
import os
from typing import Any

from realm_tf import errors
from realm_tf import json_text

NAME = 'realm.json'
EXAMPLES = 'examples.json'
_FIELDS = {
  'model_dir': str,
  'corpus_dir': str,
  'index_dir': str,
  'reader_dir': str,
  'pretrained_dir': str,
  'retriever': str,
  'sparse_weight': json_text.NUMBER,
  'num_read': json_text.POSITIVE,
  'answer_by': str,
  'best_effort': bool,
}
_SEARCH = {'retriever', 'sparse_weight'}
_EXAMPLES = dict.fromkeys(('questions', 'masked'), list[str])
_ADVICE = 'Run the recipe again, with this version.'


def read(directory: str, given: Collection[str] = ()) -> dict[str, Any]:
  """Returns the values by the names of flags; {} if there is no realm.json.

  `examples` is the path of examples.json, if there is one. Values of `given`
  are left out; a given search replaces the whole search. UserError while the
  recipe has parts to make.
  """
  path = os.path.join(directory, NAME)
  _check_finished(directory)
  if not os.path.exists(path):
    return {}
  values = json_text.read_object(path, _ADVICE)
  if unknown := sorted(values.keys() - _FIELDS.keys()):
    raise errors.UserError(
      f'{path} may have only {", ".join(_FIELDS)}. Found {unknown[0]!r:.60}. '
      f'{_ADVICE}'
    )
  found = {name: each for name, each in values.items() if each is not None}
  present = {name: _FIELDS[name] for name in {'model_dir', *found}}
  json_text.check(found, present, path, _ADVICE)
  examples = os.path.join(directory, EXAMPLES)
  if os.path.exists(examples):
    found['examples'] = examples
  left_out = {*given} if _SEARCH.isdisjoint(given) else {*given, *_SEARCH}
  return {
    name: os.path.join(directory, value) if name.endswith('_dir') else value
    for name, value in found.items()
    if name not in left_out
  }


def _check_finished(directory: str) -> None:
  """Raises UserError if a part of a RUN_DIR is missing, or about to change.

  RUN_DIR/.stages has a record of each stage; realm.json's has the keys of the
  stages whose parts it names.
  """
  folder = os.path.join(directory, '.stages')
  read_record = lambda stage: (
    json_text.read(os.path.join(folder, f'{stage}.json'), dict[str, Any]) or {}
  )
  page = read_record(NAME)
  is_given = not page and os.path.exists(os.path.join(directory, NAME))
  if is_given or not os.path.isdir(folder):
    return
  keys = {NAME: page.get('key')}
  for name, key in page.get('made_from', {}).items():
    if name.startswith('stage '):
      keys[name.removeprefix('stage ')] = key
  for stage, key in keys.items():
    record = read_record(stage)
    if (record.get('state'), record.get('key')) != ('done', key):
      raise errors.UserError(
        f'{directory} must be the RUN_DIR of a recipe that has ended. Found '
        f'that its stage {stage} has to run: the recipe still runs, or was '
        'stopped. Wait for it, or run its command again.'
      )


def read_examples(path: str) -> dict[str, list[str]]:
  """Returns texts that the model answers: "questions" and "masked"."""
  values = json_text.read_object(path, _ADVICE)
  return json_text.check(values, _EXAMPLES, path, _ADVICE)
