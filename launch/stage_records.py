"""RUN_DIR/.stages: the sources of each stage, and whether it is done.

A stage runs again if something that it is made from has changed: the release,
binary, flags, the config's fields that the binary reads, the contents of the
user's files, or a needed stage. Its key is a hash of these.

An output is never overwritten: it waits in RUN_DIR/.old until the new one is
there.
"""

import dataclasses
import functools
import glob
import hashlib
import inspect
import json
import os
import pathlib
import reprlib
import shutil
from typing import Any, NamedTuple

from . import recipe as recipe_lib

import realm_tf
from realm_tf import errors
from realm_tf import json_text
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
FIELDS_READ: dict[Any, tuple[str, ...]] = {
  'warm_start': (*_OF_MODELS, 'inverse_cloze'),
  # `inverse_cloze` changes the sentences of `inverse_cloze_weight`.
  'pretrain': (*_OF_MODELS, 'pretraining', 'inverse_cloze'),
  'finetune': (*_OF_MODELS, 'finetuning'),
  'train_path': (*_OF_MODELS, 'path', 'finetuning'),
  'train_closed_book': (*_OF_MODELS, 'closed_book'),
  'train_tagger': (*_OF_MODELS, 'tagger'),
  'survey': ('model', 'lengths.block_tokens'),
}
# Binaries with --resume.
TRAINERS = [name for name in FIELDS_READ if 'seed' in FIELDS_READ[name]]


class Plan(NamedTuple):
  """A stage's key, and why it runs; no reason if it is done."""

  key: str
  made_from: dict[str, Any]
  reason: str


def plans(recipe: recipe_lib.Recipe) -> dict[str, Plan]:
  """Returns the plan of each stage, in order."""
  found: dict[str, Plan] = {}
  ours: tuple[str, ...] = ()
  folder = os.path.join(recipe.run_dir, '.stages')
  hashes = json_text.read(os.path.join(folder, 'inputs'), dict) or {}
  num_known = len(hashes)
  for name, stage in recipe.stages.items():
    keys = {need: found[need].key for need in stage.needs}
    made = made_from(stage, recipe.run_dir, keys, hashes)
    key, reason = _hash(json.dumps(made, sort_keys=True)), ''
    if record := read(recipe.run_dir, name):
      ours += (os.path.join(stage.output, ''),)
      if record['key'] != key:
        reason = _changes(record['made_from'], made)
      elif record['state'] != 'done':
        reason = 'unfinished'
      elif not os.path.lexists(stage.output):
        reason = f'{stage.output} is gone'
    # A fine-tuning writes an index where another stage may go on with it.
    elif os.path.lexists(stage.output) and not stage.output.startswith(ours):
      raise errors.UserError(
        f'RUN_DIR must be new, or of an earlier run. Found {stage.output}, '
        'which no run wrote. Give another RUN_DIR, or move it away.'
      )
    else:
      reason = 'new'
    found[name] = Plan(key, made, reason)
  if len(hashes) > num_known and os.path.isdir(folder):
    write_json(os.path.join(folder, 'inputs'), hashes)
  return found


def is_done(recipe: recipe_lib.Recipe) -> bool:
  return not any(plan.reason for plan in plans(recipe).values())


def read(run_dir: str, name: str) -> dict[str, Any]:
  """Returns a stage's record; an empty one if it never ran."""
  path = os.path.join(run_dir, '.stages', f'{name}.json')
  return json_text.read(path, dict) or {}


def begin(run_dir: str, stage: recipe_lib.Stage, plan: Plan) -> bool:
  """Makes place for a stage's output; returns whether the stage goes on."""
  record = read(run_dir, stage.name)
  checkpoints = os.path.join(stage.output, 'checkpoints')
  goes_on = record.get('key') == plan.key and (
    (stage.action == 'build_index' and record['state'] == 'begun')
    or (
      stage.action in TRAINERS
      and os.path.isdir(checkpoints)
      and bool(os.listdir(checkpoints))
    )
  )
  if record and not goes_on:
    if record['state'] == 'done' and os.path.lexists(stage.output):
      old = os.path.join(run_dir, '.old', stage.name)
      _remove(old)
      os.renames(stage.output, old)
    # A binary that was killed may leave a staged output.
    staged = glob.glob(f'{glob.escape(stage.output)}.*.tmp')
    for path in (stage.output, *staged):
      _remove(path)
  os.makedirs(os.path.dirname(stage.output), exist_ok=True)
  _write(run_dir, stage.name, plan, state='begun')
  return goes_on


def finish(run_dir: str, name: str, plan: Plan, seconds: float) -> None:
  """Notes that a stage is done, and removes its older output."""
  _write(run_dir, name, plan, state='done', seconds=seconds)
  _remove(os.path.join(run_dir, '.old', name))


def made_from(
  stage: recipe_lib.Stage,
  run_dir: str,
  keys: dict[str, str],
  hashes: dict[str, str],
) -> dict[str, Any]:
  """Returns name -> value of all that the stage is made from.

  Args:
    keys: Keys of the stages that `stage` needs.
    hashes: State of a user's files -> hash of their contents; grows.
  """
  made: dict[str, Any] = {'release': realm_tf.__version__}
  for who, (action, flags) in zip(('', 'companion '), stage.runs):
    made[f'{who}runs'] = action
    if not isinstance(action, str):
      source = inspect.getsource(action)
      made[f'{who}runs'] = f'{action.__name__} {_hash(source)}'
    for name, value in flags.items():
      made[f'{who}--{name}'] = _flag(value, run_dir, hashes)
  if stage.config is not None:
    fields = config_files.flatten(dataclasses.asdict(stage.config))
    read = FIELDS_READ.get(stage.action, fields)
    prefixes = tuple(f'{name}.' for name in read)
    made |= {n: v for n, v in fields.items() if f'{n}.'.startswith(prefixes)}
  return made | {f'stage {name}': keys[name] for name in sorted(stage.needs)}


def write_json(path: str, value: Any) -> None:
  """Writes a file whole: a reader sees the old one or the new one."""
  part = f'{path}.{os.getpid()}.part'
  with open(part, 'w') as file:
    json.dump(value, file, indent=1)
  os.replace(part, path)


def _changes(old: dict[str, Any], new: dict[str, Any]) -> str:
  """Returns the differences of two keys' sources."""
  names = [n for n in sorted({*old, *new}) if old.get(n) != new.get(n)]
  if 'release' in names:  # Another one may have other fields.
    names = ['release']
  return '; '.join(
    f'{name} changed'
    if name.startswith('stage ')
    else f'{name} is {reprlib.repr(new.get(name))}, '
    f'was {reprlib.repr(old.get(name))}'
    for name in names
  )


def _flag(value: Any, run_dir: str, hashes: dict[str, str]) -> Any:
  """Returns a flag's value, the same if RUN_DIR or a user's file is moved."""
  if isinstance(value, list):
    return [_flag(item, run_dir, hashes) for item in value]
  if isinstance(value, recipe_lib.Input):
    return value and f'content {_of_input(value, hashes)}'
  if isinstance(value, str) and f'{value}/'.startswith(f'{run_dir}/'):
    return os.path.relpath(value, run_dir)
  return value


def _of_input(text: str, hashes: dict[str, str]) -> str:
  """Returns a hash of a user's files, or the name of no local file.

  A hash is looked up by the files' sizes and times of change, so 100 GB are
  read once for a run directory.
  """
  if '://' in text or text.startswith('tfds:'):
    return text
  found: set[pathlib.Path] = set()
  for part in [text] if os.path.exists(text) else text.split(','):
    # A path, a glob, 'hf:DIR' or e.g. 'beir:DIR@SPLIT'.
    path = part if os.path.exists(part) else part.partition(':')[2] or part
    paths = glob.glob(path) or glob.glob(path.rpartition('@')[0])
    files = [
      file.absolute()
      for each in map(pathlib.Path, paths)
      for file in (each, *each.rglob('*'))
      if file.is_file()
    ]
    if not files:
      raise errors.UserError(
        f'The input {text} must exist. Found no file {part}. Correct the path.'
      )
    found.update(files)
  # tar and rsync -t keep a changed file's old time; its ctime is the system's.
  states = tuple(
    (file, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    for file in sorted(found)
    for state in [file.stat()]
  )
  state = _hash(repr(states))
  if state not in hashes:
    hashes[state] = _of_contents(states)
  return hashes[state]


@functools.cache  # A plan is made before RUN_DIR, and again in it.
def _of_contents(states: tuple[tuple[pathlib.Path, int, int, int], ...]) -> str:
  root = os.path.commonpath([file for file, *_ in states])
  digest = hashlib.blake2b(digest_size=16)
  for path, size, *_ in states:
    digest.update(repr((os.path.relpath(path, root), size)).encode())
    with open(path, 'rb') as file:
      while part := file.read(_READ_BYTES):
        digest.update(part)
  return digest.hexdigest()


def _hash(text: str) -> str:
  return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _write(run_dir: str, name: str, plan: Plan, **more: Any) -> None:
  path = os.path.join(run_dir, '.stages', f'{name}.json')
  write_json(path, {'key': plan.key, 'made_from': plan.made_from, **more})


def _remove(output: str) -> None:
  if os.path.isdir(output) and not os.path.islink(output):
    shutil.rmtree(output)
  elif os.path.lexists(output):
    os.remove(output)
