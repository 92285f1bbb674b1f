"""The model that answers, and a newer one in its place as soon as there is one.

  model directory --every few seconds--> newer? load beside, warm, swap, free

A question that is being answered keeps the model it began with: the swap is one
assignment. At most two are in memory. What does not verify, or does not fit, is
refused with one line in the log, and the one in use stays.
"""

from collections.abc import Callable
import gc
import threading
from typing import Generic, NamedTuple, Optional, TypeVar

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import layout
from realm_tf.rundir import versions

Model = TypeVar('Model')


class Found(NamedTuple):
  """What a model directory holds at a time.

  Attributes:
    params_step: Of its newest parameters; -1 if there are none.
    index_step: Of the newest index version; -1 if there is none, or if one
      that stays the same was asked for.
  """

  params_step: int
  index_step: int


def find(model_dir: str, index_dir: Optional[str] = None) -> Found:
  """Looks which versions are the newest.

  Args:
    model_dir: Of the model.
    index_dir: An index version, which stays the same, or a directory of them;
      by default the model directory's own.
  """
  params = versions.newest(layout.params_root(model_dir))
  index = None
  if not (index_dir and versions.is_complete(index_dir)):
    index = versions.newest(index_dir or layout.index_root(model_dir))
  return Found(
    -1 if params is None else params.step, -1 if index is None else index.step
  )


class LiveModel(Generic[Model]):
  """Holds the model in use.

  Args:
    find: See `find`.
    load: Opens the newest versions and warms them; UserError if it cannot.
    adopt: Told the new model and the one in use, once while both are there and
      once more, holding `lock`, right before the swap.
    observe: Told 'loaded' or 'refused'.

  Attributes:
    current: The model in use.
    found: The versions that it is of.
    lock: Held while models are swapped.
  """

  def __init__(
    self,
    find: Callable[[], Found],
    load: Callable[[], Model],
    adopt: Callable[[Model, Model], None] = lambda new, old: None,
    observe: Callable[[str], None] = lambda result: None,
  ):
    self._find, self._load, self._adopt = find, load, adopt
    self._observe = observe
    self._refused: Optional[Found] = None
    self._stopped = threading.Event()
    self._watcher: Optional[threading.Thread] = None
    self.lock = threading.Lock()
    # Looked up first: what is published meanwhile is then loaded again.
    self.found = find()
    self.current = load()

  def check(self) -> bool:
    """Loads newer versions if there are some; returns whether it did."""
    try:
      found = self._find()
    except (OSError, tf.errors.OpError) as error:  # The next look may do.
      logging.error('Could not look for a newer model: %s', error)
      return False
    if found in (self.found, self._refused):
      return False
    try:
      self._swap(found, self._load())
    except (errors.UserError, OSError, tf.errors.OpError) as error:
      logging.error('Refused %s, kept %s: %s', found, self.found, error)
      self._refused = found
      self._observe('refused')
      return False
    # A model is a web of objects that point at each other.
    gc.collect()
    logging.info('Answers with %s from now on.', found)
    self._observe('loaded')
    return True

  def watch(self, poll_secs: float) -> None:
    """Begins to `check` every so many seconds, in a thread."""
    self._watcher = threading.Thread(
      target=self._watch, args=[poll_secs], name='watcher', daemon=True
    )
    self._watcher.start()

  def close(self) -> None:
    """Ends the watching; a load that has begun is waited for."""
    self._stopped.set()
    if self._watcher is not None:
      self._watcher.join()

  def _swap(self, found: Found, new: Model):
    self._adopt(new, self.current)
    with self.lock:
      self._adopt(new, self.current)  # What has changed meanwhile.
      self.current, self.found = new, found

  def _watch(self, poll_secs):
    while not self._stopped.wait(poll_secs):
      try:
        self.check()
      except Exception:  # A watcher that died would be missed much later.
        logging.exception('Could not load a newer model.')
