"""RUN_DIR/.stages: the sources of each stage, and whether it is done.

  record + stage -> reason to run it, or ''

An output is never overwritten: it waits in RUN_DIR/.old until the new one is
there.
"""

from collections.abc import Iterator
import contextlib
import fcntl
import json
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
  for name, stage in recipe.stages.items():
    made = stage_keys.made_from(stage, recipe.run_dir, keys)
    keys[name] = stage_keys.key(made)
    reason = _reason(stage, read(recipe.run_dir, name), keys[name], made)
    found[name] = Plan(keys[name], made, reason)
  return found


def read(run_dir: str, name: str) -> dict[str, Any]:
  """Returns a stage's record; an empty one if it never ran."""
  try:
    with open(path(run_dir, name)) as file:
      return json.load(file)
  except FileNotFoundError:
    return {}


def path(run_dir: str, name: str, suffix: str = 'json') -> str:
  return os.path.join(run_dir, '.stages', f'{name}.{suffix}')


def begin(recipe: recipe_lib.Recipe, name: str, plan: Plan) -> bool:
  """Makes place for a stage's output; returns whether the stage goes on."""
  record, output = read(recipe.run_dir, name), recipe.stages[name].output
  goes_on = (
    record.get('key') == plan.key
    and recipe.stages[name].action in stage_keys.TRAINERS
    and bool(_entries(os.path.join(output, 'checkpoints')))
  )
  if os.path.lexists(output) and not goes_on:
    if record['state'] == 'done':
      _remove(_old(recipe.run_dir, name))
      os.makedirs(os.path.dirname(_old(recipe.run_dir, name)), exist_ok=True)
      os.rename(output, _old(recipe.run_dir, name))
    else:
      _remove(output)
  os.makedirs(os.path.dirname(output), exist_ok=True)
  _write(recipe.run_dir, name, plan, {'state': 'begun'})
  return goes_on


def finish(
  run_dir: str, name: str, plan: Plan, measured: dict[str, float]
) -> None:
  """Notes that a stage is done, and removes its older output."""
  _write(run_dir, name, plan, {'state': 'done', **measured})
  _remove(_old(run_dir, name))


def _reason(stage, record, key, made) -> str:
  if not record:
    if os.path.lexists(stage.output):
      raise errors.UserError(
        'RUN_DIR must be new, or of an earlier run. Found '
        f'{stage.output}, which no run wrote. Give another RUN_DIR, or move '
        'it away.'
      )
    return 'new'
  if record['key'] != key:
    return '; '.join(stage_keys.changes(record['made_from'], made))
  if record['state'] != 'done':
    return 'unfinished'
  return '' if os.path.lexists(stage.output) else f'{stage.output} is gone'


def _write(run_dir, name, plan, more) -> None:
  made = {'key': plan.key, 'made_from': plan.made_from}
  user_cache.write_json(path(run_dir, name), {**made, **more})


def _old(run_dir: str, name: str) -> str:
  return os.path.join(run_dir, '.old', name)


def _entries(folder: str) -> list[str]:
  return os.listdir(folder) if os.path.isdir(folder) else []


def _remove(name: str) -> None:
  if os.path.isdir(name) and not os.path.islink(name):
    shutil.rmtree(name)
  elif os.path.lexists(name):
    os.remove(name)
