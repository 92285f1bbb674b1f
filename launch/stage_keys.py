"""Stages -> keys: a stage runs again if something that it is made from changed.

A key is a hash of binary, flags, the config's fields that the binary reads, the
contents of the user's files and the keys of the needed stages.
"""

from collections.abc import Iterator
import dataclasses
import glob
import hashlib
import inspect
import json
import os
import pathlib
import reprlib
from typing import Any

from . import recipe as recipe_lib
from . import user_cache

import realm_tf
from realm_tf import errors
from realm_tf.config import config_files

_READ_BYTES = 1 << 22
# Fields that jobs of any model directory read in its config.json.
_OF_MODELS = (
  'seed',
  'model',
  'lengths',
  'index',
  'held_out',
  'pretraining.pin_index',
  'pretraining.num_candidates',
  'finetuning.num_searched',
  'finetuning.num_read',
  'finetuning.null_spans',
  'finetuning.joint_tokens',
  'finetuning.read_titles',
  'finetuning.answer_by',
  'finetuning.eval_batch_size',
)
# Binary -> prefixes of fields; a binary that is missing here reads all.
FIELDS_READ: dict[recipe_lib.Action, tuple[str, ...]] = {
  'warm_start': (*_OF_MODELS, 'inverse_cloze'),
  # `inverse_cloze` changes the sentences of `inverse_cloze_weight`.
  'pretrain': (*_OF_MODELS, 'pretraining', 'inverse_cloze'),
  'finetune': (*_OF_MODELS, 'finetuning'),
  'train_path': (*_OF_MODELS, 'path', 'finetuning'),
  'train_closed_book': (*_OF_MODELS, 'closed_book'),
  'train_tagger': (*_OF_MODELS, 'tagger'),
  'survey': ('model', 'lengths.block_tokens'),
  'make_world': ('world',),
}
# Binaries with --resume.
TRAINERS = [name for name in FIELDS_READ if 'seed' in FIELDS_READ[name]]


def made_from(
  stage: recipe_lib.Stage, run_dir: str, keys: dict[str, str]
) -> dict[str, Any]:
  """Returns name -> value of all that the stage is made from.

  Args:
    keys: Keys of the stages that `stage` needs.
  """
  made: dict[str, Any] = {'release': realm_tf.__version__}
  for who, (action, flags) in zip(('', 'companion '), stage.runs):
    made[f'{who}runs'] = _action(action)
    for name, value in flags.items():
      made[f'{who}--{name}'] = _flag(value, run_dir)
  if stage.config is not None:
    fields = config_files.flatten(dataclasses.asdict(stage.config))
    read = FIELDS_READ.get(stage.action, fields)
    prefixes = tuple(f'{name}.' for name in read)
    made |= {n: v for n, v in fields.items() if f'{n}.'.startswith(prefixes)}
  return made | {f'stage {name}': keys[name] for name in sorted(stage.needs)}


def key(made: dict[str, Any]) -> str:
  return _hash(json.dumps(made, sort_keys=True))


def changes(old: dict[str, Any], new: dict[str, Any]) -> str:
  """Returns the differences of two keys' sources."""
  names = [n for n in sorted({*old, *new}) if old.get(n) != new.get(n)]
  if 'release' in names:  # Another one may have other fields.
    names = ['release']
  texts = []
  for name in names:
    now, before = reprlib.repr(new.get(name)), reprlib.repr(old.get(name))
    is_stage = name.startswith('stage ')
    change = ' changed' if is_stage else f' is {now}, was {before}'
    texts.append(name + change)
  return '; '.join(texts)


def _action(action: recipe_lib.Action) -> str:
  if isinstance(action, str):
    return action
  return f'{action.__name__} {_hash(inspect.getsource(action))}'


def _flag(value: Any, run_dir: str) -> Any:
  """Returns a flag's value, the same if RUN_DIR or a user's file is moved."""
  if isinstance(value, list):
    return [_flag(item, run_dir) for item in value]
  if isinstance(value, recipe_lib.Input):
    return value and f'content {_of_input(value)}'
  if isinstance(value, str) and f'{value}/'.startswith(f'{run_dir}/'):
    return os.path.relpath(value, run_dir)
  return value


def _of_input(text: str) -> str:
  """Returns a hash of a user's files, or the name of no local file.

  The cache remembers it by the files' sizes and times of change, so 100 GB are
  read once.
  """
  if text == 'world' or '://' in text or text.startswith('tfds:'):
    return text
  found: set[pathlib.Path] = set()
  for part in [text] if os.path.exists(text) else text.split(','):
    files = set(_files(part))
    if not files:
      raise errors.UserError(
        f'The input {text} must exist. Found no file {part}. Correct the path.'
      )
    found |= files
  ordered = sorted(found)
  states = [(file.stat().st_size, file.stat().st_mtime_ns) for file in ordered]
  now = _hash(repr([*zip(ordered, states)]))
  known = user_cache.load()
  if now not in known:
    known[now] = _of_contents(ordered)
    user_cache.add(now, known[now])
  return known[now]


def _files(item: str) -> Iterator[pathlib.Path]:
  """Yields the files of a path, a glob, 'hf:DIR' or e.g. 'beir:DIR@SPLIT'."""
  path = item if os.path.exists(item) else item.partition(':')[2] or item
  paths = glob.glob(path) or glob.glob(path.partition('@')[0]) or [path]
  for found in paths:
    for file in (pathlib.Path(found), *pathlib.Path(found).rglob('*')):
      if file.is_file():
        yield file.absolute()


def _of_contents(files: list[pathlib.Path]) -> str:
  root = os.path.commonpath(files)
  digest = hashlib.blake2b(digest_size=16)
  for file in files:
    name = os.path.relpath(file, root)
    digest.update(repr((name, file.stat().st_size)).encode())
    with open(file, 'rb') as content:
      while part := content.read(_READ_BYTES):
        digest.update(part)
  return digest.hexdigest()


def _hash(text: str) -> str:
  return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
