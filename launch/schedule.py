"""Runs the stages of a recipe that are not done, several at the same time.

Each is a process, forked from one that has imported all and started none. It
has its own process group, log and number of threads, and ends with the runner,
even if that is killed.
"""

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import dataclasses
import importlib
import multiprocessing
from multiprocessing import connection
import os
import pathlib
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
from typing import Any, NamedTuple

from . import recipe as recipe_lib
from . import stage_records

import tqdm

from realm_tf import errors
from realm_tf import machine
from realm_tf import output_files
from realm_tf import process
from realm_tf.run import run_lock

# bin/ has this name in a checkout, the other one when installed.
BIN = 'realm_tf.bin' if __package__.startswith('realm_tf.') else 'bin'
_THREADS = (
  'OMP_NUM_THREADS',
  'TF_NUM_INTEROP_THREADS',
  'TF_NUM_INTRAOP_THREADS',
)
_PATIENCE_SECS = 20.0  # A trainer writes a checkpoint when it is stopped.
_CONTEXT = multiprocessing.get_context('forkserver')
_STAGE_BYTES = 3e9  # Of all memory, for each stage at the same time.
_TICK_SECS = 1.0
_SHOWN_SECS = 60.0  # A shorter forecast says nothing.
_TRUSTED_SECS = 5.0  # Costs are true, until stages with one have ended.
_TEMPORARY = '.tmp'  # In the folder of the logs.


class _Worker:
  """A binary or function in its own process."""

  def __init__(self, run: recipe_lib.Run, log: str, threads: int):
    self.log = log
    self.process = _CONTEXT.Process(target=_work, args=(run, log, threads))
    # A user's script, which may lack a main guard, must not run again.
    is_in_script = getattr(run[0], '__module__', '') == '__main__'
    hide = contextlib.nullcontext if is_in_script else process.without_script
    with hide():
      self.process.start()

  def signal(self, number: int) -> None:
    """Signals the process and its children."""
    try:
      os.killpg(self.process.pid or 0, number)
    except ProcessLookupError:  # It has ended, or has no group yet.
      self.process.kill()

  def last_error(self) -> str:
    """Returns the log's ERROR line, or its last line."""
    log = pathlib.Path(self.log).read_text(errors='replace')
    lines = [line for line in log.splitlines() if line.strip()]
    wrong = [line for line in lines if line.startswith('ERROR: ')]
    return (wrong or lines or [''])[-1].removeprefix('ERROR: ').strip()


class _Running(NamedTuple):
  """A stage that runs, and its companion."""

  workers: list[_Worker]
  threads: int
  begun: float


class _Pace:
  """Forecasts from the times of the stages that this run has ended."""

  def __init__(self, recipe: recipe_lib.Recipe):
    self._stages, self._cores = recipe.stages, recipe.cores
    self._expected = self._taken = _TRUSTED_SECS  # Of one core.

  def note(self, name: str, secs: float) -> None:
    """Notes the seconds of one core that a stage took, if its cost is known."""
    if (cost := self._stages[name].cost) != recipe_lib.USUAL_COST:
      self._expected += cost
      self._taken += secs

  def forecast(
    self, left: Iterable[str], running: Mapping[str, _Running]
  ) -> str:
    """Returns '; about 5 min left', or '' for less than a minute."""
    secs = sum(self._stages[name].cost for name in [*left, *running])
    secs *= self._taken / self._expected
    for each in running.values():
      secs -= (time.monotonic() - each.begun) * each.threads
    secs /= self._cores
    return f'; about {in_words(secs)} left' if secs >= _SHOWN_SECS else ''


def in_words(seconds: float) -> str:
  """Returns e.g. '5 min'."""
  if seconds < 90:
    return f'{seconds:.0f} s'
  if seconds < 5400:
    return f'{seconds / 60:.0f} min'
  return f'{seconds / 3600:.1f} h'


def run(recipe: recipe_lib.Recipe) -> None:
  """Runs all stages that are not done; UserError if one fails."""
  if stage_records.is_done(recipe):  # It finds mistakes before RUN_DIR is made.
    return
  with _alone_in(recipe.run_dir):
    plans = stage_records.plans(recipe)
    left = [name for name, plan in plans.items() if plan.reason]
    done, logs = len(plans) - len(left), os.path.join(recipe.run_dir, 'logs')
    pace = _Pace(recipe)
    more = pace.forecast(left, {})
    print(
      f'Stages: {done} of {len(plans)} done{more}. Logs: {logs}/', flush=True
    )
    has_binary = any(isinstance(recipe.stages[n].action, str) for n in left)
    # NumPy reads it when it is imported; a second thread would only spin.
    os.environ.setdefault('OPENBLAS_NUM_THREADS', '1')
    process.start_server([f'{__package__}.preloaded'] if has_binary else [])
    most = max(1, int(machine.memory_bytes() / _STAGE_BYTES))
    running: dict[str, _Running] = {}
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
          for name in _wait(running):
            ended = running.pop(name)
            secs = time.monotonic() - ended.begun
            stage_records.finish(recipe.run_dir, name, plans[name], secs)
            pace.note(name, secs * ended.threads)
            more = pace.forecast(left, running)
            print(f'[{name}] {secs:.0f} s{more}', flush=True)
            undone = {*left, *running}
            for show in recipe.shows:
              if name in show.needs and not show.needs & undone:
                text = show.text(recipe.run_dir)
                print(f'\n{show.title}\n{text}\n', flush=True)
    finally:
      _stop(w for each in running.values() for w in each.workers)


@contextlib.contextmanager
def _alone_in(run_dir: str) -> Iterator[None]:
  """Holds RUN_DIR, with a folder for the stages' temporary files."""
  output_files.check(run_dir)
  os.makedirs(os.path.join(run_dir, '.stages'), exist_ok=True)
  temporary = os.path.join(run_dir, 'logs', _TEMPORARY)
  with run_lock.holding(run_dir, 'run'):
    shutil.rmtree(temporary, ignore_errors=True)  # Of a killed run.
    os.makedirs(temporary)
    try:
      yield
    finally:
      shutil.rmtree(temporary, ignore_errors=True)


def next_stage(
  recipe: recipe_lib.Recipe,
  left: Iterable[str],
  running: Mapping[str, int],
  most: int,
) -> tuple[str, int] | None:
  """Returns a stage that may begin now, and its threads, or None.

  The ready stages share the free cores: small matrices use them better in
  several one-thread processes; a stage `alone` waits for them, and has all
  cores. Until the next text can be shown, only the stages that it needs begin.
  Of these the one with the longest path to the end is next.

  Args:
    running: Name -> threads.
    most: Stages at the same time.
  """
  undone = {*left, *running}
  texts = (show.needs for show in recipe.shows if show.needs & undone)
  ways = _ways(recipe, next(texts, frozenset()))
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
  first = max(ready, key=lambda name: ways[name])
  if recipe.stages[first].alone:
    return None if running else (first, cores)
  return first, cores // number


def _ways(
  recipe: recipe_lib.Recipe, needed: frozenset[str]
) -> dict[str, tuple[bool, float]]:
  """Returns name -> (whether `needed` needs it, cost of the longest path)."""
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
    print(f'[{name}] {how}: {plan.reason}', flush=True)
  # A version of an index that was begun is finished without a flag.
  is_index = stage.action == 'build_index'
  more: dict[str, Any] = {'resume': True} if goes_on and not is_index else {}
  if stage.config is not None:
    more['config'] = os.path.join(run_dir, '.stages', f'{name}.config.json')
    if not goes_on:  # Fields that the stage does not read may have changed.
      config = dataclasses.asdict(stage.config)
      stage_records.write_json(more['config'], config)
  for ending, (action, flags) in zip(('.log', '.companion.log'), stage.runs):
    log = os.path.join(run_dir, 'logs', f'{name}{ending}')
    if not goes_on:
      pathlib.Path(log).write_text('')
    worker = _Worker((action, flags | more), log, running.threads)
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


def _stop(workers: Iterable[_Worker]) -> None:
  """Ends workers and their children."""
  workers = list(workers)
  deadline = time.monotonic() + _PATIENCE_SECS
  for worker in workers:
    worker.signal(signal.SIGTERM)
  for worker in workers:
    worker.process.join(max(0.0, deadline - time.monotonic()))
    worker.signal(signal.SIGKILL)
    worker.process.join(_PATIENCE_SECS)


def _work(run: recipe_lib.Run, log: str, threads: int) -> None:
  """Runs a binary or a function; the process ends with its exit code."""
  os.setpgid(0, 0)
  threading.Thread(target=_end_with_runner, daemon=True).start()
  with open(log, 'a') as file:
    os.dup2(file.fileno(), 1)
    os.dup2(file.fileno(), 2)
  sys.stdout = os.fdopen(1, 'w', buffering=1, closefd=False)
  sys.stderr = os.fdopen(2, 'w', buffering=1, closefd=False)
  os.environ.update(dict.fromkeys(_THREADS, str(threads)))
  tempfile.tempdir = os.path.abspath(os.path.join(log, '..', _TEMPORARY))
  os.environ['TMPDIR'] = tempfile.tempdir
  # Its own lock is a semaphore, which a killed process would leave.
  tqdm.tqdm.set_lock(threading.RLock())
  action, flags = run
  if isinstance(action, str):
    argv = list(recipe_lib.arguments(flags))
    print(f'$ python -m {BIN}.{action} {shlex.join(argv)}')
    sys.exit(importlib.import_module(f'{BIN}.launcher').call(action, argv))
  try:
    action(**flags)
  except errors.UserError as error:
    sys.exit(f'ERROR: {error}')


def _end_with_runner() -> None:
  runner = multiprocessing.parent_process()
  if runner is not None:
    connection.wait([runner.sentinel])
    os.killpg(0, signal.SIGKILL)
