"""A newer version between two uses, loaded while the one before is in use.

  newest on disk -> background: load, warm -> `swap` between two uses

Looking for a newer version, loading it, warming it and freeing the one before
are done in the background: `find_newer`. The swap itself exchanges two
references, so a caller keeps the version that it uses until it is done.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
from typing import Generic, Optional, TypeVar

from absl import logging
import tensorflow as tf

from realm_tf import errors

Version = TypeVar('Version')
Loaded = TypeVar('Loaded')
# What reading a damaged version raises.
_DAMAGE = (
  *(errors.UserError, OSError, tf.errors.OpError),
  *(AttributeError, LookupError, TypeError, ValueError),
)
Submit = Callable[..., concurrent.futures.Future]


class HotSwap(Generic[Version, Loaded]):
  """Holds the version in use and replaces it by newer ones.

  At most two versions are in memory: the one in use and the one being loaded,
  which begins only after the one before was freed. A version that does not
  verify, or that vanishes while it is loaded, is refused with one line in the
  log, and the one in use stays until there is a newer one.

  Args:
    newest: Returns the newest version, or None. Versions must be comparable.
    load: Reads a version from disk and warms it.
    submit: Runs a function in the background and returns its future, such as
      `ThreadPoolExecutor(1).submit`; `poll` needs it.
    declare: Called with the versions in memory whenever they change.

  Attributes:
    version: The version in use; None before the first.
    refused: The last version that could not be loaded, if any.
  """

  def __init__(
    self,
    newest: Callable[[], Optional[Version]],
    load: Callable[[Version], Loaded],
    *,
    submit: Optional[Submit] = None,
    declare: Callable[[Sequence[Version]], None] = lambda versions: None,
  ):
    self._newest, self._load = newest, load
    self._submit, self._declare = submit, declare
    self._declared: list[Version] = []
    self._pending: Optional[concurrent.futures.Future] = None
    self._current: Optional[Loaded] = None
    self._replaced: Optional[Loaded] = None  # The background frees it.
    self.version: Optional[Version] = None
    self.refused: Optional[Version] = None

  @property
  def current(self) -> Loaded:
    """What was loaded and is in use; there must be a version."""
    if self._current is None:
      raise ValueError('Nothing was loaded yet.')
    return self._current

  def find_newer(self) -> Optional[tuple[Version, Loaded]]:
    """Frees what was replaced; returns a newer version, loaded, or None.

    It runs in the background, and `swap` is not called meanwhile.
    """
    self.free()
    try:
      version = self._newest()
    except _DAMAGE as error:  # The next look tries again.
      logging.log_every_n_seconds(
        *(logging.ERROR, 'Could not look for a newer version: %s', 60, error)
      )
      return None
    if version is None or version in (self.version, self.refused):
      return None
    self._say([*self._declared, version])
    try:
      return version, self._load(version)
    except _DAMAGE as error:
      logging.error('Refused %s, kept %s: %s', version, self.version, error)
      self.refused = version
      return None

  def swap(self, newer: tuple[Version, Loaded]) -> None:
    """Uses what `find_newer` returned from now on."""
    self._replaced = self._current
    self.version, self._current = newer

  def free(self) -> None:
    """Drops the last reference to what was replaced."""
    self._replaced = None
    self._say([] if self.version is None else [self.version])

  def load_first(self) -> None:
    """Loads the newest version in this thread; raises what `load` raises."""
    version = self._newest()
    if version is None:
      raise ValueError('There must be a version to load.')
    self.swap((version, self._load(version)))

  def poll(self) -> bool:
    """Swaps if a newer version is loaded, or looks for one; never waits.

    Returns:
      Whether `current` is another version than before the call.
    """
    newer = None
    if self._pending is not None and self._pending.done():
      newer, self._pending = self._pending.result(), None
      if newer is not None:
        self.swap(newer)
    if self._pending is None and self._submit is not None:
      self._pending = self._submit(self.find_newer)
    return newer is not None

  def wait_for_first(self, wait: Callable[[], None]) -> None:
    """Polls until a version is loaded, calling `wait` in between."""
    while self.version is None and not self.poll():
      wait()

  def _say(self, versions: list[Version]) -> None:
    if versions != self._declared:
      self._declared = versions
      self._declare(versions)
