"""A newer index between two batches, loaded while the step goes on."""

from collections.abc import Callable
import concurrent.futures
from typing import Generic, Optional, TypeVar

from absl import logging

from realm_tf import errors
from realm_tf.rundir import versions

Loaded = TypeVar('Loaded')
Submit = Callable[..., concurrent.futures.Future]


class HotSwap(Generic[Loaded]):
  """Holds the version in use and loads the newest one in the background.

  `poll` is cheap and never waits. At most two versions are in memory: the one
  in use and the one being loaded. A version that does not verify is refused,
  and the one in use stays.

  Args:
    newest: Returns the newest complete version above a step, or None.
    load: Reads a version from disk, in the background.
    submit: Runs a function with arguments and returns its future, such as
      `ThreadPoolExecutor(1).submit`.
  """

  def __init__(
    self,
    newest: Callable[[int], Optional[versions.Version]],
    load: Callable[[versions.Version], Loaded],
    submit: Submit,
  ):
    self._newest = newest
    self._load = load
    self._submit = submit
    self._pending: Optional[tuple[int, concurrent.futures.Future]] = None
    self._refused = -1
    self.current: Optional[Loaded] = None
    self.step = -1

  def poll(self) -> bool:
    """Swaps if a newer version is loaded; starts loading one if there is one.

    Returns:
      Whether `current` is another version than before the call.
    """
    swapped = self._finish() if self._is_loaded() else False
    if self._pending is None:
      version = self._newest(max(self.step, self._refused))
      if version is not None:
        self._pending = version.step, self._submit(self._load, version)
    return swapped

  def wait_for_first(self, wait: Callable[[], None]) -> None:
    """Polls until a version is loaded, calling `wait` in between."""
    while self.current is None:
      self.poll()
      if self.current is None:
        wait()

  def _is_loaded(self):
    return self._pending is not None and self._pending[1].done()

  def _finish(self):
    (step, future), self._pending = self._pending, None
    try:
      self.current = future.result()
    except (errors.UserError, OSError) as error:
      logging.error(
        'Refused index version %d, kept %d: %s', step, self.step, error
      )
      self._refused = step
      return False
    self.step = step
    return True
