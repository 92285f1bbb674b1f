"""Runs the stages of a recipe that are not done, several at the same time."""

from collections.abc import Iterator
import contextlib
import dataclasses
from multiprocessing import connection
import os
import pathlib
import shutil
import sys
import time
from typing import Any, NamedTuple

from . import recipe as recipe_lib
from . import stage_order
from . import stage_records
from . import user_cache
from . import workers as workers_lib

import tqdm

from realm_tf import errors

_TICK_SECS = 1.0
_LINE = '{n} of {total} done | {elapsed} | {desc}'
_WIDTH_OF_OTHERS = 30  # Columns of the line without {desc}.


def run(recipe: recipe_lib.Recipe) -> None:
  """Runs all stages that are not done; UserError if one fails."""
  if stage_records.is_done(recipe):  # It finds mistakes before RUN_DIR is made.
    return
  with (
    stage_records.locked(recipe.run_dir),
    contextlib.closing(_Schedule(recipe)) as schedule,
  ):
    schedule.work()


class _Running(NamedTuple):
  """A stage that runs, and its companion."""

  workers: list[workers_lib.Worker]
  threads: int
  begun: float

  def secs(self) -> float:
    return time.monotonic() - self.begun


class _Schedule:
  """The stages that are left, and those that run."""

  def __init__(self, recipe: recipe_lib.Recipe):
    self._recipe = recipe
    self._plans = plans = stage_records.plans(recipe)
    self._left = [name for name, plan in plans.items() if plan.reason]
    self._running: dict[str, _Running] = {}
    known = user_cache.load()
    self._order = stage_order.Order(
      recipe, {n: known[p.key] for n, p in plans.items() if p.key in known}
    )
    self._line = tqdm.tqdm(
      total=len(plans),
      initial=len(plans) - len(self._left),
      bar_format=_LINE,
      file=sys.stdout,
      leave=False,
      disable=not sys.stdout.isatty(),
    )
    actions = [recipe.stages[name].action for name in self._left]
    workers_lib.start_server(any(isinstance(each, str) for each in actions))

  def work(self) -> None:
    num_all = len(self._plans)
    _say(
      f'Stages: {num_all - len(self._left)} of {num_all} done, about '
      f'{self._remaining()} for the rest. Logs: {self._log("")}'
    )
    while self._left or self._running:
      threads = {name: each.threads for name, each in self._running.items()}
      if step := self._order.next(self._left, threads):
        self._begin(*step)
      else:
        self._wait()

  def close(self) -> None:
    workers_lib.stop(self._workers())
    self._line.close()

  def _workers(self) -> Iterator[workers_lib.Worker]:
    for running in self._running.values():
      yield from running.workers

  def _begin(self, name: str, threads: int) -> None:
    run_dir, plan = self._recipe.run_dir, self._plans[name]
    stage = self._recipe.stages[name]
    goes_on = stage_records.begin(run_dir, stage, plan)
    if plan.reason != 'new':
      how = 'goes on' if goes_on else 'runs again'
      _say(f'[{name}] {how}: {plan.reason}')
    # A version of an index that was begun is finished without a flag.
    is_index = stage.action == 'build_index'
    more: dict[str, Any] = {'resume': True} if goes_on and not is_index else {}
    if stage.config is not None:
      more['config'] = os.path.join(run_dir, '.stages', f'{name}.config.json')
      user_cache.write_json(more['config'], dataclasses.asdict(stage.config))
    self._left.remove(name)
    running = self._running[name] = _Running([], threads, time.monotonic())
    os.makedirs(self._log(''), exist_ok=True)
    for ending, (action, flags) in zip(('.log', '.companion.log'), stage.runs):
      log = self._log(f'{name}{ending}')
      if not goes_on:
        pathlib.Path(log).write_text('')
      worker = workers_lib.Worker((action, flags | more), log, threads)
      running.workers.append(worker)
      more = {}  # A companion has no config.

  def _log(self, name: str) -> str:
    return os.path.join(self._recipe.run_dir, 'logs', name)

  def _wait(self) -> None:
    self._move_line()
    processes = [worker.process for worker in self._workers()]
    connection.wait(
      [each.sentinel for each in processes if each.exitcode is None], _TICK_SECS
    )
    for name, running in list(self._running.items()):
      for worker in running.workers:
        if code := worker.process.exitcode:
          _fail(name, worker, code)
      if all(worker.process.exitcode == 0 for worker in running.workers):
        self._end(name, running)

  def _move_line(self) -> None:
    if self._line.disable:
      return
    running = ', '.join(
      f'{name}{each.workers[0].percent()}'
      for name, each in self._running.items()
    )
    text = (
      f'{running} | {len(self._left)} waiting | about {self._remaining()} more'
    )
    width = shutil.get_terminal_size().columns - _WIDTH_OF_OTHERS
    self._line.set_description_str(text[:width])

  def _remaining(self) -> str:
    running = {name: each.secs() for name, each in self._running.items()}
    secs = self._order.remaining_secs(self._left, running)
    return stage_order.in_words(secs)

  def _end(self, name: str, ended: _Running) -> None:
    del self._running[name]
    run_dir, plan, secs = self._recipe.run_dir, self._plans[name], ended.secs()
    used = sum(worker.secs.value for worker in ended.workers)
    stage_records.finish(
      run_dir, name, plan, seconds=secs, processor_seconds=used
    )
    user_cache.add(plan.key, secs)
    self._order.end(name, secs)
    self._line.update()
    if self._line.disable:
      _say(f'[{name}] {secs:.0f} s')
    undone = {*self._left, *self._running}
    for show in self._recipe.shows:
      if name in show.needs and not show.needs & undone:
        _say(f'\n{show.title}\n{show.text(run_dir)}\n')


def _say(text: str) -> None:
  """Prints above the moving line."""
  tqdm.tqdm.write(text)
  sys.stdout.flush()


def _fail(name: str, worker: workers_lib.Worker, code: int) -> None:
  how = f'was killed by signal {-code}' if code < 0 else 'failed'
  raise errors.UserError(
    f'Stage {name} {how}: {worker.last_error()} See {worker.log}.'
  )
