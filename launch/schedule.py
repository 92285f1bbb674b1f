"""Runs the stages of a recipe that are not done, several at the same time."""

from collections.abc import Iterator
import dataclasses
from multiprocessing import connection
import os
import time

from . import display
from . import recipe as recipe_lib
from . import stage_keys
from . import stage_order
from . import stage_records
from . import user_cache
from . import workers as workers_lib

from realm_tf import errors

_TABLE = 'stages'  # Key -> [seconds, peak bytes] on this machine.
_TICK_SECS = 1.0


def reasons(recipe: recipe_lib.Recipe) -> Iterator[str]:
  """Yields a line for each stage: done, or why it would run."""
  for name, plan in stage_records.plans(recipe).items():
    why = f'would run: {plan.reason}' if plan.reason else 'done'
    yield f'{name}: {why}'


def run(recipe: recipe_lib.Recipe) -> None:
  """Runs all stages that are not done.

  Raises:
    UserError: A stage failed; the message is its last one.
    Stopped: Ctrl-C.
  """
  plans = stage_records.plans(recipe)
  if not any(plan.reason for plan in plans.values()):
    return
  running = _Run(recipe, plans)
  try:
    running.work()
  except KeyboardInterrupt as stop:
    raise errors.Stopped('Stopped. The same command goes on.') from stop
  finally:
    running.close()


@dataclasses.dataclass
class _Process:
  """A stage that runs, and its companion."""

  workers: list[workers_lib.Worker]
  begun: float = dataclasses.field(default_factory=time.monotonic)

  @property
  def is_done(self) -> bool:
    return all(worker.code == 0 for worker in self.workers)

  def failed(self) -> workers_lib.Worker | None:
    return next((w for w in self.workers if w.code), None)

  def measured(self) -> dict[str, float]:
    used = [worker.usage() for worker in self.workers]
    return {
      'seconds': time.monotonic() - self.begun,
      'processor_seconds': sum(each['processor_seconds'] for each in used),
      'peak_bytes': sum(each['peak_bytes'] for each in used),
    }


class _Run:
  """The stages that are left, and those that run."""

  def __init__(
    self, recipe: recipe_lib.Recipe, plans: dict[str, stage_records.Plan]
  ):
    self._recipe = recipe
    self._plans = plans
    self._left = [name for name, plan in plans.items() if plan.reason]
    self._running: dict[str, _Process] = {}
    self._shows = [show for show in recipe.shows if show.needs & {*self._left}]
    known = user_cache.load(_TABLE)
    rows = {name: known.get(plan.key, []) for name, plan in plans.items()}
    seconds = {
      name: row[0] if row else recipe.stages[name].cost
      for name, row in rows.items()
    }
    peaks = {name: row[1] for name, row in rows.items() if row}
    self._order = stage_order.Order(recipe, seconds, peaks)
    self._display = display.Display(len(plans))
    actions = [recipe.stages[name].action for name in self._left]
    binaries = [each for each in actions if isinstance(each, str)]
    if binaries:  # Later stages that a recipe lists may run others.
      binaries += [*stage_keys.FIELDS_READ, 'evaluate']
    workers_lib.preload(binaries)

  def work(self) -> None:
    num_done = len(self._plans) - len(self._left)
    display.say(
      f'{len(self._plans)} stages: {num_done} done, {len(self._left)} to run, '
      f'about {display.clock(self._order.remaining_secs(self._left))}. Logs: '
      f'{os.path.join(self._recipe.run_dir, "logs")}'
    )
    while self._left or self._running:
      while step := self._order.next(self._left, self._running):
        self._begin(*step)
      self._wait()

  def close(self) -> None:
    workers_lib.stop(
      worker for process in self._running.values() for worker in process.workers
    )
    self._display.close()

  def _begin(self, name: str, threads: int) -> None:
    stage, plan = self._recipe.stages[name], self._plans[name]
    self._left.remove(name)
    flags = dict(stage.flags)
    goes_on = stage_records.begin(self._recipe, name, plan)
    if goes_on:
      flags['resume'] = True
    if stage.config is not None:
      flags['config'] = stage_records.path(
        self._recipe.run_dir, name, 'config.json'
      )
      user_cache.write_json(flags['config'], dataclasses.asdict(stage.config))
    if plan.reason != 'new':
      how = 'goes on' if goes_on else 'runs again'
      display.say(f'[{name}] {how}: {plan.reason}')
    actions = [(stage.action, flags, name, threads)]
    if stage.companion:
      action, given = stage.companion
      label = f'{name}.{getattr(action, "__name__", action)}'
      actions.append((action, given, label, 1))
    process = self._running[name] = _Process([])
    for action, given, label, number in actions:
      log = self._log(label, appends=goes_on)
      process.workers.append(workers_lib.Worker(action, given, log, number))

  def _log(self, label: str, appends: bool) -> str:
    log = os.path.join(self._recipe.run_dir, 'logs', f'{label}.log')
    os.makedirs(os.path.dirname(log), exist_ok=True)
    if not appends:
      open(log, 'w').close()
    return log

  def _wait(self) -> None:
    self._display.update(
      {name: each.workers[0].log for name, each in self._running.items()},
      len(self._left),
      self._order.remaining_secs([*self._left, *self._running]),
    )
    connection.wait(
      [
        worker.sentinel
        for process in self._running.values()
        for worker in process.workers
        if worker.code is None
      ],
      _TICK_SECS,
    )
    for name, process in list(self._running.items()):
      if worker := process.failed():
        _fail(name, worker)
      if process.is_done:
        self._end(name, process)

  def _end(self, name: str, process: _Process) -> None:
    del self._running[name]
    measured, plan = process.measured(), self._plans[name]
    stage_records.finish(self._recipe.run_dir, name, plan, measured)
    row = [measured['seconds'], measured['peak_bytes']]
    user_cache.add(_TABLE, {plan.key: row})
    self._display.end(name, measured['seconds'])
    undone = {*self._left, *self._running}
    for show in [s for s in self._shows if not s.needs & undone]:
      self._shows.remove(show)
      display.say(f'\n{show.title}\n{show.text(self._recipe.run_dir)}\n')


def _fail(name: str, worker: workers_lib.Worker) -> None:
  code = worker.code or 0
  if code == 2:
    raise errors.UserError(
      f'{workers_lib.last_error(worker.log)} (stage {name}, {worker.log})'
    )
  how = 'was killed by signal' if code < 0 else 'ended with code'
  raise errors.UserError(
    f'Stage {name} must end without an error. It {how} {abs(code)}: '
    f'{workers_lib.last_error(worker.log)} See {worker.log}.'
  )
