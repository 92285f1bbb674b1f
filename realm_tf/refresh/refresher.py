"""Embeds the corpus again whenever the trainer publishes new parameters.

This is the second job of Section 3.3 of Guu et al. 2020. Trainer and refresher
communicate only through the run directory.
"""

from collections.abc import Callable, Container
import dataclasses
from typing import Any, Optional

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import storage
from realm_tf.rundir import layout
from realm_tf.rundir import versions


@dataclasses.dataclass(frozen=True)
class RunDirectory:
  """A trainer's run directory; each method reads its current state."""

  path: str
  corpus_fingerprint: str
  in_order: bool = False  # Whether to embed all parameters, oldest first.
  once: bool = False  # Whether to treat training as done.

  def is_training_done(self) -> bool:
    return self.once or tf.io.gfile.exists(layout.done_file(self.path))

  def next_target(self, given_up: Container[int]) -> Optional[versions.Version]:
    """Returns the version to embed with next, or None.

    A begun index is finished first, as it holds its own parameters. `given_up`
    are the steps of begun indexes to leave.
    """
    root = layout.params_root(self.path)
    target = storage.find_unfinished(
      layout.index_root(self.path), self.corpus_fingerprint
    )
    if target is None or target.step in given_up:
      if self.in_order:
        target = versions.oldest(root, self._step())
      else:
        target = versions.newest(root)
    # Read last: no index follows a newer one.
    return target if target and target.step > self._step() else None

  def _step(self) -> int:
    """Returns the step of the newest index, or -1."""
    newest = versions.newest(layout.index_root(self.path))
    return -1 if newest is None else newest.step


def refresh_until_done(
  run: RunDirectory,
  publish_index: Callable[[versions.Version], Any],
  wait: Callable[[], None],
  max_failures: int = 1,
) -> int:
  """Publishes indexes of `run.next_target` until training is done.

  No index is built twice, nor an older one after a newer one, even after a
  restart. A begun index is finished first; otherwise a job that is often
  stopped might never publish one.

  Args:
    publish_index: Embeds all blocks with the version and publishes the index.
    wait: Called when there is nothing to do and after a failure.
    max_failures: Consecutive failures, e.g. of the disk, that end the job.

  Returns:
    The number of published index versions.

  Raises:
    UserError: The last of `max_failures` failures.
  """
  num_published, num_failures = 0, 0
  given_up: set[int] = set()  # Unfinished versions that failed.
  while True:
    done = run.is_training_done()  # Read first: no parameters are missed.
    target = run.next_target(given_up)
    if target is None and done:
      return num_published
    if target is not None:
      logging.info('Building the index of step %d.', target.step)
      try:
        publish_index(target)
        num_published, num_failures = num_published + 1, 0
        continue
      except (errors.UserError, OSError, tf.errors.OpError) as error:
        num_failures += 1
        given_up.add(target.step)
        reason = str(error).strip().rstrip('.') or type(error).__name__
        if num_failures < max_failures:
          logging.error(
            'No index of %s (failure %d of at most %d in a row): %s',
            target.path,
            num_failures,
            max_failures,
            reason,
          )
        elif isinstance(error, errors.UserError):
          raise
        else:
          raise errors.UserError(
            f'The index of {target.path} must be written. Found: {reason}. '
            'Fix that and start the refresher again: it continues.'
          ) from error
    wait()
