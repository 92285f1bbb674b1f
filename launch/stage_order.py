"""Which stage begins next, with how many threads; how long all of it takes."""

from collections.abc import Iterable, Mapping
import os

from . import recipe as recipe_lib

_PEAK_BYTES = 2.5e9  # Of a stage that never ran.


class Order:
  """Stages that are left, and their seconds.

  Args:
    stages: In the order of their needs.
    seconds: Name -> expected seconds.
    peaks: Name -> peak memory, where known.
  """

  def __init__(
    self,
    recipe: recipe_lib.Recipe,
    seconds: Mapping[str, float],
    peaks: Mapping[str, float],
  ):
    self._stages = recipe.stages
    self._shows = recipe.shows
    self._seconds = seconds
    self._peaks = peaks
    self._cores = recipe.cores
    self._memory = free_bytes()
    self._needs = _with_their_needs(recipe.stages)
    self._path = dict(seconds)  # Seconds to the end of the longest path.
    for stage in reversed(recipe.stages.values()):
      for need in stage.needs:
        through = seconds[need] + self._path[stage.name]
        self._path[need] = max(self._path[need], through)

  def next(
    self, left: Iterable[str], running: Iterable[str]
  ) -> tuple[str, int] | None:
    """Returns a stage that may begin now, and its threads, or None."""
    left, running = list(left), list(running)
    if len(running) >= self._cores:
      return None
    undone = {*left, *running}
    used = sum(map(self._peak, running))
    ready = [
      name
      for name in left
      if not self._stages[name].needs & undone
      and (not running or used + self._peak(name) <= self._memory)
    ]
    if not ready:
      return None
    shown = self._first_shown(undone)
    name = max(ready, key=lambda name: (name in shown, self._path[name]))
    return name, self._threads(name, undone)

  def remaining_secs(self, left: Iterable[str]) -> float:
    """Returns the seconds until all of `left` are done, roughly."""
    left = list(left)
    longest = max((self._path[name] for name in left), default=0.0)
    return max(longest, sum(self._seconds[n] for n in left) / self._cores)

  def _peak(self, name: str) -> float:
    return self._peaks.get(name) or _PEAK_BYTES

  def _first_shown(self, undone: set[str]) -> set[str]:
    """Returns the stages that the next text to show needs."""
    for show in self._shows:
      if show.needs & undone:
        return set().union(*(self._needs[need] for need in show.needs))
    return set()

  def _threads(self, name: str, undone: set[str]) -> int:
    """Returns the cores, in proportion to the work at the same time.

    Small matrices use the cores better in several one-thread processes.
    """
    same_time = sum(
      self._seconds[other]
      for other in undone
      if name not in self._needs[other] and other not in self._needs[name]
    )
    own = self._seconds[name]
    share = own / (own + same_time) if own else 0.0
    return min(self._cores, max(1, round(self._cores * share)))


def free_bytes() -> float:
  """Returns the memory that new processes may use."""
  try:
    with open('/proc/meminfo') as file:
      sizes = dict(line.split(':') for line in file)
    return float(sizes['MemAvailable'].split()[0]) * 1024
  except (OSError, KeyError):  # Not Linux.
    return float(os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES'))


def _with_their_needs(
  stages: dict[str, recipe_lib.Stage],
) -> dict[str, frozenset[str]]:
  """Returns name -> the stage and all that it needs, directly or not."""
  found: dict[str, frozenset[str]] = {}
  for name, stage in stages.items():
    found[name] = frozenset({name}).union(*(found[n] for n in stage.needs))
  return found
