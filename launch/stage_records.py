"""RUN_DIR/.stages: the sources of each stage, and whether it is done.

  record + stage -> reason to run it, or ''

An output is never overwritten: it waits in RUN_DIR/.old until the new one is
there.
"""

from collections.abc import Iterator
import contextlib
import fcntl
import glob
import os
import shutil
from typing import Any, NamedTuple

from . import recipe as recipe_lib
from . import stage_keys
from . import user_cache

from realm_tf import errors


class Plan(NamedTuple):
  """A stage's key, and why it runs; no reason if it is done."""

  key: str
  made_from: dict[str, Any]
  reason: str


@contextlib.contextmanager
def locked(run_dir: str) -> Iterator[None]:
  """Holds a run directory; UserError if another runner holds it."""
  os.makedirs(os.path.join(run_dir, '.stages'), exist_ok=True)
  with open(os.path.join(run_dir, '.stages', 'lock'), 'w') as file:
    try:
      fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
      raise errors.UserError(
        f'Only one run may work in {run_dir}. Found another. Wait for it, or '
        'stop it.'
      ) from error
    yield


def plans(recipe: recipe_lib.Recipe) -> dict[str, Plan]:
  """Returns the plan of each stage, in order."""
  found: dict[str, Plan] = {}
  keys: dict[str, str] = {}
  ours: tuple[str, ...] = ()
  for name, stage in recipe.stages.items():
    made = stage_keys.made_from(stage, recipe.run_dir, keys)
    keys[name] = stage_keys.key(made)
    if record := read(recipe.run_dir, name):
      ours += (os.path.join(stage.output, ''),)
    # A fine-tuning writes an index where another stage may go on with it.
    elif os.path.lexists(stage.output) and not stage.output.startswith(ours):
      raise errors.UserError(
        f'RUN_DIR must be new, or of an earlier run. Found {stage.output}, '
        'which no run wrote. Give another RUN_DIR, or move it away.'
      )
    reason = _reason(record, keys[name], made, stage.output)
    found[name] = Plan(keys[name], made, reason)
  return found


def is_done(recipe: recipe_lib.Recipe) -> bool:
  return not any(plan.reason for plan in plans(recipe).values())


def read(run_dir: str, name: str) -> dict[str, Any]:
  """Returns a stage's record; an empty one if it never ran."""
  return user_cache.read_json(_path(run_dir, name))


def begin(run_dir: str, stage: recipe_lib.Stage, plan: Plan) -> bool:
  """Makes place for a stage's output; returns whether the stage goes on."""
  record = read(run_dir, stage.name)
  checkpoints = os.path.join(stage.output, 'checkpoints')
  goes_on = record.get('key') == plan.key and (
    (stage.action == 'build_index' and record['state'] == 'begun')
    or (
      stage.action in stage_keys.TRAINERS
      and os.path.isdir(checkpoints)
      and bool(os.listdir(checkpoints))
    )
  )
  if record and not goes_on:
    if record['state'] == 'done' and os.path.lexists(stage.output):
      old = _old(run_dir, stage.name)
      _remove(old)
      os.makedirs(os.path.dirname(old), exist_ok=True)
      os.rename(stage.output, old)
    # A binary that was killed may leave a staged output.
    staged = glob.glob(f'{glob.escape(stage.output)}.*.tmp')
    for path in (stage.output, *staged):
      _remove(path)
  os.makedirs(os.path.dirname(stage.output), exist_ok=True)
  _write(run_dir, stage.name, plan, state='begun')
  return goes_on


def finish(run_dir: str, name: str, plan: Plan, **measured: float) -> None:
  """Notes that a stage is done, and removes its older output."""
  _write(run_dir, name, plan, state='done', **measured)
  _remove(_old(run_dir, name))


def _reason(
  record: dict[str, Any], key: str, made: dict[str, Any], output: str
) -> str:
  if not record:
    return 'new'
  if record['key'] != key:
    return stage_keys.changes(record['made_from'], made)
  if record['state'] != 'done':
    return 'unfinished'
  return '' if os.path.lexists(output) else f'{output} is gone'


def _write(run_dir: str, name: str, plan: Plan, **more: Any) -> None:
  record = {'key': plan.key, 'made_from': plan.made_from, **more}
  user_cache.write_json(_path(run_dir, name), record)


def _path(run_dir: str, name: str) -> str:
  return os.path.join(run_dir, '.stages', f'{name}.json')


def _old(run_dir: str, name: str) -> str:
  return os.path.join(run_dir, '.old', name)


def _remove(output: str) -> None:
  if os.path.isdir(output) and not os.path.islink(output):
    shutil.rmtree(output)
  elif os.path.lexists(output):
    os.remove(output)
