"""A newer version between two uses, loaded while the one before is in use.

  trainer: newest on disk -> background: load, warm -> `poll`: swap
  server:  `watch`: every few seconds, newest on disk -> load, warm -> swap

Looking for a newer version, loading it, warming it and freeing the one before
are done in the background. The swap itself exchanges two references, so a
caller keeps the version that it uses until it is done.
"""

from collections.abc import Callable, Sequence
import concurrent.futures
import gc
import threading
from typing import Any, Generic, Optional, TypeVar

from absl import logging
import tensorflow as tf

from realm_tf import errors

Loaded = TypeVar('Loaded')
# What reading a damaged version raises.
_DAMAGE = (
  *(errors.UserError, OSError, tf.errors.OpError),
  *(AttributeError, LookupError, TypeError, ValueError),
)
Submit = Callable[..., concurrent.futures.Future]


class HotSwap(Generic[Loaded]):
  """Holds the version in use and replaces it by newer ones.

  At most two versions are in memory: the one in use and the one being loaded,
  which begins only after the one before was freed. A version that does not
  verify, or that vanishes while it is loaded, is refused with one line in the
  log, and the one in use stays until there is a newer one.

  Args:
    newest: Returns the newest version, or None. Anything that can be compared
      may name a version.
    load: Reads a version from disk and warms it.
    submit: Runs a function in the background and returns its future, such as
      `ThreadPoolExecutor(1).submit`; needed for `poll`.
    declare: Told the versions in memory whenever they change.
    adopt: Told the new object and the one in use, before the swap and once
      more, holding `lock`, right at the swap.
    observe: Told 'loaded' or 'refused'.

  Attributes:
    current: What was loaded and is in use; None before the first.
    version: Its version; None before the first.
    lock: Held while `current` is replaced.
  """

  def __init__(
    self,
    newest: Callable[[], Any],
    load: Callable[[Any], Loaded],
    submit: Optional[Submit] = None,
    declare: Callable[[Sequence[Any]], None] = lambda versions: None,
    adopt: Callable[[Loaded, Optional[Loaded]], None] = lambda new, old: None,
    observe: Callable[[str], None] = lambda result: None,
  ):
    self._newest, self._load, self._submit = newest, load, submit
    self._declare, self._adopt, self._observe = declare, adopt, observe
    self._declared: list[Any] = []
    self._pending: Optional[concurrent.futures.Future] = None
    self._replaced: list[Loaded] = []  # Freed by the background.
    self._refused: Any = None
    self._stopped = threading.Event()
    self._watcher: Optional[threading.Thread] = None
    self.lock = threading.Lock()
    self.current: Optional[Loaded] = None
    self.version: Any = None

  def poll(self) -> bool:
    """Swaps if a newer version is loaded, or looks for one; never waits.

    Returns:
      Whether `current` is another version than before the call.
    """
    swapped = False
    if self._pending is not None and self._pending.done():
      found, self._pending = self._pending.result(), None
      if found is not None:
        self._swap(*found)
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

  def load_first(self) -> None:
    """Loads the newest version in this thread; raises what `load` raises."""
    version = self._newest()
    self._swap(version, self._load(version))

  def check(self) -> bool:
    """Swaps to a newer version in this thread; returns whether it did."""
    found = self._find_and_load()
    if found is None:
      return False
    self._swap(*found)
    self._free()
    gc.collect()  # A model is a web of objects that point at each other.
    logging.info('Uses %s from now on.', self.version)
    self._observe('loaded')
    return True

  def watch(self, poll_secs: float) -> None:
    """Begins to `check` every `poll_secs` seconds, in a thread."""
    self._watcher = threading.Thread(
      target=self._watch, args=[poll_secs], name='watcher', daemon=True
    )
    self._watcher.start()

  def close(self) -> None:
    """Ends the watching; waits for a load that has begun."""
    self._stopped.set()
    if self._watcher is not None:
      self._watcher.join()

  def _swap(self, version, new):
    self._adopt(new, self.current)
    with self.lock:
      self._adopt(new, self.current)  # What has changed meanwhile.
      self._replaced.append(self.current)
      self.current, self.version = new, version

  def _find_and_load(self) -> Optional[tuple[Any, Loaded]]:
    """Runs in the background, where `version` cannot change under it."""
    self._free()
    version = self._find()
    if version is None or version in (self.version, self._refused):
      return None
    self._say([*self._declared, version])
    try:
      return version, self._load(version)
    except _DAMAGE as error:
      logging.error('Refused %s, kept %s: %s', version, self.version, error)
      self._refused = version
      self._observe('refused')
      return None

  def _find(self):
    try:
      return self._newest()
    except _DAMAGE as error:  # The next look tries again.
      logging.log_every_n_seconds(
        *(logging.ERROR, 'Could not look for a newer version: %s', 60, error)
      )
      return None

  def _free(self):
    self._replaced.clear()  # The last references, so the memory is free now.
    self._say([] if self.version is None else [self.version])

  def _say(self, versions):
    if versions != self._declared:
      self._declared = versions
      self._declare(versions)

  def _watch(self, poll_secs):
    while not self._stopped.wait(poll_secs):
      try:
        self.check()
      except Exception:  # A watcher that died would be missed much later.
        logging.exception('Could not load a newer version.')
