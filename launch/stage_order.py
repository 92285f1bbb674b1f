"""Which stage begins next, with how many threads; how long all of it takes."""

from collections.abc import Iterable, Mapping
import os

from . import recipe as recipe_lib

_STAGE_BYTES = 2.5e9


class Order:
  """Stages and their seconds.

  Args:
    measured: Name -> seconds of an earlier run, where known.
  """

  def __init__(self, recipe: recipe_lib.Recipe, measured: Mapping[str, float]):
    self._stages, self._cores = recipe.stages, recipe.cores
    self._shown = {need for show in recipe.shows for need in show.needs}
    self._measured = measured
    self._max_stages = max(1, int(free_bytes() / _STAGE_BYTES))
    self._costs = self._seconds = 0.0  # Of the stages that ended.

  def next(
    self, left: Iterable[str], running: Mapping[str, int]
  ) -> tuple[str, int] | None:
    """Returns a stage that may begin now, and its threads, or None.

    The ready stages share the free cores: small matrices use them better in
    several one-thread processes. Until a text can be shown, only the stages
    that it needs begin.

    Args:
      running: Name -> threads.
    """
    undone = {*left, *running}
    ways = self._ways()
    awaited = {name for name in undone if ways[name][0]} or undone
    ready = [
      name
      for name in left
      if name in awaited and not self._stages[name].needs & undone
    ]
    cores = self._cores - sum(running.values())
    number = min(len(ready), cores, self._max_stages - len(running))
    if number < 1:
      return None
    return max(ready, key=lambda name: ways[name]), cores // number

  def end(self, name: str, seconds: float) -> None:
    """Notes a stage's seconds, by which the costs of the others are scaled."""
    self._costs += self._stages[name].cost
    self._seconds += seconds

  def remaining_secs(
    self, left: Iterable[str], running: Mapping[str, float]
  ) -> float:
    """Returns the seconds until all stages are done, roughly.

    Args:
      running: Name -> seconds since it began.
    """
    ways, longest, work = self._ways(), 0.0, 0.0
    for name in (*left, *running):
      secs = self._secs(name)
      gone = min(secs, running.get(name, 0.0))
      longest = max(longest, ways[name][1] - gone)
      work += secs - gone
    return max(longest, work / self._cores)

  def _secs(self, name: str) -> float:
    scale = self._seconds / self._costs if self._costs else 1.0
    return self._measured.get(name, self._stages[name].cost * scale)

  def _ways(self) -> dict[str, tuple[bool, float]]:
    """Returns name -> (a text to show needs it, seconds of the longest path).

    The largest one begins first.
    """
    ways = {
      name: (name in self._shown, self._secs(name)) for name in self._stages
    }
    for stage in reversed(self._stages.values()):
      shown, secs = ways[stage.name]
      for need in stage.needs:
        also_shown, longest = ways[need]
        longest = max(longest, self._secs(need) + secs)
        ways[need] = shown or also_shown, longest
    return ways


def in_words(seconds: float) -> str:
  """Returns e.g. '5 min'."""
  if seconds < 90:
    return f'{seconds:.0f} s'
  if seconds < 5400:
    return f'{seconds / 60:.0f} min'
  return f'{seconds / 3600:.1f} h'


def free_bytes() -> float:
  """Returns the memory that new processes may use; all of it without Linux."""
  try:
    with open('/proc/meminfo') as file:
      sizes = dict(line.split(':') for line in file)
    return float(sizes['MemAvailable'].split()[0]) * 1024
  except OSError:
    return float(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))
