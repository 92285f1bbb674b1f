"""A newer index between two batches, loaded while the step goes on.

  newest version on disk -> background: load and warm -> `poll`: swap

Whatever takes time is done in the background: to look for a newer version, to
load and warm it, to free the one before. `poll` only exchanges two references.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
from typing import Generic, Optional, TypeVar

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import versions

Loaded = TypeVar('Loaded')
Submit = Callable[..., concurrent.futures.Future]


class HotSwap(Generic[Loaded]):
  """Holds the version in use and loads the newest one in the background.

  `poll` never waits. At most two versions are in memory: the one in use and the
  one being loaded, which begins only after the one before was freed. A version
  that does not verify, or that vanishes while it is loaded, is refused, and the
  one in use stays until there is a newer one.

  Args:
    newest: Returns the newest complete version above a step, or None.
    load: Reads a version from disk and warms it.
    submit: Runs a function with arguments in the background and returns its
      future, such as `ThreadPoolExecutor(1).submit`.
    declare: Told the steps of the versions in memory whenever they change.

  Attributes:
    current: The version in use, None before the first.
    step: Its step; -1 before the first.
  """

  def __init__(
    self,
    newest: Callable[[int], Optional[versions.Version]],
    load: Callable[[versions.Version], Loaded],
    submit: Submit,
    declare: Callable[[Sequence[int]], None] = lambda steps: None,
  ):
    self._newest = newest
    self._load = load
    self._submit = submit
    self._declare = declare
    self._declared: list[int] = []
    self._pending: Optional[concurrent.futures.Future] = None
    self._replaced: list[Loaded] = []  # Freed by the background.
    self._refused = -1
    self.current: Optional[Loaded] = None
    self.step = -1

  def poll(self) -> bool:
    """Swaps if a newer version is loaded; else sees to it that one is sought.

    Returns:
      Whether `current` is another version than before the call.
    """
    swapped = False
    if self._pending is not None and self._pending.done():
      found, self._pending = self._pending.result(), None
      if found is not None:
        self._replaced.append(self.current)
        self.step, self.current = found
        swapped = True
    if self._pending is None:
      self._pending = self._submit(self._find_and_load)
    return swapped

  def wait_for_first(self, wait: Callable[[], None]) -> None:
    """Polls until a version is loaded, calling `wait` in between."""
    while self.current is None:
      self.poll()
      if self.current is None:
        wait()

  def _find_and_load(self) -> Optional[tuple[int, Loaded]]:
    """Runs in the background, where `step` cannot change under it."""
    self._replaced.clear()  # The last reference, so the memory is free now.
    self._say([self.step] if self.step >= 0 else [])
    version = self._find()
    if version is None:
      return None
    self._say([*self._declared, version.step])
    try:
      return version.step, self._load(version)
    except (errors.UserError, OSError, tf.errors.OpError) as error:
      logging.error(
        'Refused index version %d, kept %d: %s', version.step, self.step, error
      )
      self._refused = version.step
      return None

  def _find(self):
    try:
      return self._newest(max(self.step, self._refused))
    except (OSError, tf.errors.OpError) as error:  # The next poll tries again.
      logging.log_every_n_seconds(
        logging.ERROR, 'Could not look for a newer index: %s', 60, error
      )
      return None

  def _say(self, steps):
    if steps != self._declared:
      self._declared = steps
      self._declare(steps)
