"""Replaces a version in use by a newer one, without a pause.

`find_newer` loads a version and frees the previous one in the background.
`swap` only exchanges two references: callers keep the version that they use.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
from typing import Any, Generic, TypeVar

from absl import logging
import tensorflow as tf

from realm_tf import errors

Version = TypeVar('Version')
Loaded = TypeVar('Loaded')
# Errors from reading a damaged version.
_DAMAGE = (
  *(errors.UserError, OSError, tf.errors.OpError),
  *(AttributeError, LookupError, TypeError, ValueError),
)
Submit = Callable[..., concurrent.futures.Future]


class HotSwap(Generic[Version, Loaded]):
  """Holds the version in use and replaces it by newer ones.

  At most two versions are in memory: one in use and one being loaded. A version
  that is damaged, or vanishes during loading, is refused with one line in the
  log; the version in use stays until a newer one loads.

  Args:
    newest: Returns the newest version, or None.
    load: Reads a version from disk and warms it.
    submit: Runs a function in the background and returns its future, such as
      `ThreadPoolExecutor(1).submit`; `poll` needs it.
    declare: Called with the versions in memory whenever they change.
  """

  def __init__(
    self,
    newest: Callable[[], Version | None],
    load: Callable[[Version], Loaded],
    *,
    submit: Submit | None = None,
    declare: Callable[[Sequence[Version]], None] = lambda versions: None,
  ):
    self._newest, self._load = newest, load
    self._submit, self._declare = submit, declare
    self._declared: list[Version] = []
    self._pending: concurrent.futures.Future | None = None
    self.current: Any = None  # The loaded object in use.
    self._replaced: Loaded | None = None  # The background frees it.
    self.version: Version | None = None  # In use.
    self.refused: Version | None = None  # The last damaged one.
    self._refusal = ''

  def find_newer(self) -> tuple[Version, Loaded] | None:
    """Frees the replaced version; loads and returns a newer one, or None.

    Made for a background thread; `swap` must not be called until it returns.
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
      self.refused, self._refusal = version, str(error)
      return None

  def swap(self, newer: tuple[Version, Loaded]) -> None:
    """Puts the result of `find_newer` into use."""
    self._replaced = self.current
    self.version, self.current = newer

  def free(self) -> None:
    """Drops the last reference to the replaced version."""
    self._replaced = None
    self._say([] if self.version is None else [self.version])

  def load_first(self) -> None:
    """Loads the newest version in this thread; raises what `load` raises."""
    version = self._newest()
    if version is None:
      raise ValueError('There must be a version to load.')
    self.swap((version, self._load(version)))

  def poll(self) -> bool:
    """Swaps if a newer version is loaded, and starts to look for the next.

    Never waits. Returns whether `current` changed.
    """
    newer = None
    if self._pending is not None and self._pending.done():
      newer, self._pending = self._pending.result(), None
      if newer is not None:
        self.swap(newer)
    if self._pending is None and self._submit is not None:
      self._pending = self._submit(self.find_newer)
    return newer is not None

  def wait_for(
    self, is_there: Callable[[], bool], wait: Callable[[], None]
  ) -> None:
    """Polls until `is_there()`; calls `wait` between two polls.

    Raises:
      UserError: The newest version was refused, so no other may come.
    """
    while not is_there():
      if not self.poll():
        if self.refused is not None and self._newest() == self.refused:
          raise errors.UserError(self._refusal)
        wait()

  def _say(self, versions: list[Version]) -> None:
    if versions != self._declared:
      self._declared = versions
      self._declare(versions)
