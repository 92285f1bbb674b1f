"""Stages -> keys: a stage runs again if something that it is made from changed.

A key is a hash of binary, flags, the config's fields that the binary reads, the
contents of the user's files and the keys of the needed stages.
"""

from collections.abc import Iterator
import dataclasses
import hashlib
import inspect
import json
import os
import reprlib
from typing import Any

from . import fingerprints
from . import recipe as recipe_lib

import realm_tf
from realm_tf.config import config_files

# Fields that jobs of any model directory read in its config.json.
_OF_MODELS = (
  'seed',
  'model',
  'lengths',
  'index',
  'held_out',
  'pretraining.pin_index',
  'pretraining.num_candidates',
  'pretraining.over_retrieval',
  'finetuning.num_searched',
  'finetuning.num_read',
  'finetuning.joint_tokens',
  'finetuning.read_titles',
  'finetuning.answer_by',
  'finetuning.eval_batch_size',
)
_OF_TRAINERS = {
  'warm_start': ('inverse_cloze',),
  # `inverse_cloze` changes the sentences of `inverse_cloze_weight`.
  'pretrain': ('pretraining', 'inverse_cloze'),
  'finetune': ('finetuning',),
  'train_path': ('path', 'finetuning'),
  'train_closed_book': ('closed_book',),
  'train_tagger': ('tagger',),
}
TRAINERS = tuple(_OF_TRAINERS)
# Binary -> prefixes of fields; a binary that is missing here reads all.
FIELDS_READ = {
  **{name: _OF_MODELS + own for name, own in _OF_TRAINERS.items()},
  'survey': ('model', 'lengths.block_tokens'),
  'make_world': ('world',),
  'make_blocks': ('world',),
  'make_queries': ('world',),
  'change_fact': ('world',),
}


def made_from(
  stage: recipe_lib.Stage, run_dir: str, keys: dict[str, str]
) -> dict[str, Any]:
  """Returns name -> value of all that the stage is made from.

  Args:
    keys: Those of the stages that `stage` needs.
  """
  made = {'release': realm_tf.__version__, 'runs': _action(stage.action)}
  made |= {
    f'--{name}': _flag(value, run_dir) for name, value in stage.flags.items()
  }
  if stage.companion:
    action, flags = stage.companion
    made['companion'] = _action(action)
    made |= {
      f'companion --{name}': _flag(value, run_dir)
      for name, value in flags.items()
    }
  if stage.config is not None:
    fields = config_files.flatten(dataclasses.asdict(stage.config))
    made |= {n: v for n, v in fields.items() if _is_read(n, stage.action)}
  return made | {f'stage {name}': keys[name] for name in sorted(stage.needs)}


def key(made: dict[str, Any]) -> str:
  text = json.dumps(made, sort_keys=True)
  return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def changes(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
  """Yields the differences of two keys' sources."""
  for name in sorted({*old, *new}):
    now, before = new.get(name), old.get(name)
    if name.startswith('stage '):
      if now != before:
        yield f'{name} changed'
    elif now != before:
      yield f'{name} is {reprlib.repr(now)}, was {reprlib.repr(before)}'


def _is_read(field: str, action: recipe_lib.Action) -> bool:
  prefixes = FIELDS_READ.get(action) if isinstance(action, str) else None
  return prefixes is None or f'{field}.'.startswith(
    tuple(f'{prefix}.' for prefix in prefixes)
  )


def _action(action: recipe_lib.Action) -> str:
  if isinstance(action, str):
    return action
  source = hashlib.blake2b(inspect.getsource(action).encode(), digest_size=8)
  return f'{action.__name__} {source.hexdigest()}'


def _flag(value: Any, run_dir: str) -> Any:
  if isinstance(value, list):
    return [_flag(item, run_dir) for item in value]
  if isinstance(value, recipe_lib.Output):
    return os.path.relpath(value, run_dir)
  if isinstance(value, recipe_lib.Input):
    return f'content {fingerprints.of_input(value)}' if value else ''
  return value
