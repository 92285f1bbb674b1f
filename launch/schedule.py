"""Runs the stages of a recipe that are not done, several at the same time."""

from collections.abc import Iterable, Iterator, Mapping
import dataclasses
from multiprocessing import connection
import os
import pathlib
import shutil
import sys
import time
from typing import Any, NamedTuple

from . import recipe as recipe_lib
from . import stage_records
from . import workers as workers_lib

import tqdm

from realm_tf import errors

_STAGE_BYTES = 2.5e9
_TICK_SECS = 1.0
_LINE = '{n} of {total} done | {elapsed} | {desc}'
_WIDTH_OF_OTHERS = 30  # Columns of the line without {desc}.


class _Running(NamedTuple):
  """A stage that runs, and its companion."""

  workers: list[workers_lib.Worker]
  threads: int
  begun: float


def run(recipe: recipe_lib.Recipe) -> None:
  """Runs all stages that are not done; UserError if one fails."""
  if stage_records.is_done(recipe):  # It finds mistakes before RUN_DIR is made.
    return
  with stage_records.locked(recipe.run_dir):
    plans = stage_records.plans(recipe)
    left = [name for name, plan in plans.items() if plan.reason]
    done, logs = len(plans) - len(left), os.path.join(recipe.run_dir, 'logs')
    _say(f'Stages: {done} of {len(plans)} done. Logs: {logs}/')
    os.makedirs(logs, exist_ok=True)
    workers_lib.start_server(
      any(isinstance(recipe.stages[name].action, str) for name in left)
    )
    most = max(1, int(free_bytes() / _STAGE_BYTES))
    running: dict[str, _Running] = {}
    line = tqdm.tqdm(
      total=len(plans),
      initial=done,
      bar_format=_LINE,
      file=sys.stdout,
      leave=False,
      disable=not sys.stdout.isatty(),
    )
    try:
      while left or running:
        threads = {name: each.threads for name, each in running.items()}
        if step := next_stage(recipe, left, threads, most):
          name, number = step
          left.remove(name)
          # It is known before its first process, which must not outlive it.
          running[name] = _Running([], number, time.monotonic())
          _begin(recipe, name, plans[name], running[name])
        else:
          _move(line, running, len(left))
          for name in _wait(running):
            _end(recipe, name, plans[name], running.pop(name), line)
            _show(recipe, name, {*left, *running})
    finally:
      workers_lib.stop(w for each in running.values() for w in each.workers)
      line.close()


def next_stage(
  recipe: recipe_lib.Recipe,
  left: Iterable[str],
  running: Mapping[str, int],
  most: int,
) -> tuple[str, int] | None:
  """Returns a stage that may begin now, and its threads, or None.

  The ready stages share the free cores: small matrices use them better in
  several one-thread processes. Until a text can be shown, only the stages that
  it needs begin. Of these the one with the longest path to the end is next.

  Args:
    running: Name -> threads.
    most: Stages at the same time.
  """
  undone = {*left, *running}
  ways = _ways(recipe)
  awaited = {name for name in undone if ways[name][0]} or undone
  ready = [
    name
    for name in left
    if name in awaited and not recipe.stages[name].needs & undone
  ]
  cores = recipe.cores - sum(running.values())
  number = min(len(ready), cores, most - len(running))
  if number < 1:
    return None
  return max(ready, key=lambda name: ways[name]), cores // number


def free_bytes() -> float:
  """Returns the memory that new processes may use; all of it without Linux."""
  try:
    with open('/proc/meminfo') as file:
      sizes = dict(line.split(':') for line in file)
    return float(sizes['MemAvailable'].split()[0]) * 1024
  except OSError:
    return float(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))


def _ways(recipe: recipe_lib.Recipe) -> dict[str, tuple[bool, float]]:
  """Returns name -> (a shown text needs it, cost of the longest path)."""
  needed = {need for show in recipe.shows for need in show.needs}
  ways = {
    name: (name in needed, stage.cost) for name, stage in recipe.stages.items()
  }
  for stage in reversed(recipe.stages.values()):
    is_shown, cost = ways[stage.name]
    for need in stage.needs:
      also_shown, longest = ways[need]
      longest = max(longest, recipe.stages[need].cost + cost)
      ways[need] = is_shown or also_shown, longest
  return ways


def _begin(
  recipe: recipe_lib.Recipe,
  name: str,
  plan: stage_records.Plan,
  running: _Running,
) -> None:
  run_dir, stage = recipe.run_dir, recipe.stages[name]
  goes_on = stage_records.begin(run_dir, stage, plan)
  if plan.reason != 'new':
    how = 'goes on' if goes_on else 'runs again'
    _say(f'[{name}] {how}: {plan.reason}')
  # A version of an index that was begun is finished without a flag.
  is_index = stage.action == 'build_index'
  more: dict[str, Any] = {'resume': True} if goes_on and not is_index else {}
  if stage.config is not None:
    more['config'] = os.path.join(run_dir, '.stages', f'{name}.config.json')
    stage_records.write_json(more['config'], dataclasses.asdict(stage.config))
  for ending, (action, flags) in zip(('.log', '.companion.log'), stage.runs):
    log = os.path.join(run_dir, 'logs', f'{name}{ending}')
    if not goes_on:
      pathlib.Path(log).write_text('')
    worker = workers_lib.Worker((action, flags | more), log, running.threads)
    running.workers.append(worker)
    more = {}  # A companion has no config.


def _wait(running: Mapping[str, _Running]) -> Iterator[str]:
  """Waits a little; yields stages that ended. UserError if one failed."""
  workers = [each for stage in running.values() for each in stage.workers]
  processes = [each.process for each in workers]
  connection.wait(
    [each.sentinel for each in processes if each.exitcode is None], _TICK_SECS
  )
  for name, stage in list(running.items()):
    for worker in stage.workers:
      if code := worker.process.exitcode:
        how = f'was killed by signal {-code}' if code < 0 else 'failed'
        raise errors.UserError(
          f'Stage {name} {how}: {worker.last_error()} See {worker.log}.'
        )
    if all(worker.process.exitcode == 0 for worker in stage.workers):
      yield name


def _end(
  recipe: recipe_lib.Recipe,
  name: str,
  plan: stage_records.Plan,
  ended: _Running,
  line: tqdm.tqdm,
) -> None:
  secs = time.monotonic() - ended.begun
  used = sum(worker.secs.value for worker in ended.workers)
  stage_records.finish(
    recipe.run_dir, name, plan, seconds=secs, processor_seconds=used
  )
  line.update()
  if line.disable:
    _say(f'[{name}] {secs:.0f} s')


def _show(recipe: recipe_lib.Recipe, name: str, undone: set[str]) -> None:
  """Prints the texts for which `name` was the last stage."""
  for show in recipe.shows:
    if name in show.needs and not show.needs & undone:
      _say(f'\n{show.title}\n{show.text(recipe.run_dir)}\n')


def _move(line: tqdm.tqdm, running: dict[str, _Running], waiting: int) -> None:
  if not line.disable:
    names = ', '.join(
      f'{name}{each.workers[0].percent()}' for name, each in running.items()
    )
    width = shutil.get_terminal_size().columns - _WIDTH_OF_OTHERS
    line.set_description_str(f'{names} | {waiting} waiting'[:width])


def _say(text: str) -> None:
  """Prints above the moving line."""
  tqdm.tqdm.write(text)
  sys.stdout.flush()
