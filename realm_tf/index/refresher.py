"""Embeds the corpus again whenever the trainer publishes new parameters.

This is the second job of Section 3.3 of Guu et al. 2020. Trainer and refresher
communicate only through the run directory.
"""

from collections.abc import Callable
import dataclasses
from typing import Any

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import storage
from realm_tf.run import layout
from realm_tf.run import versions


@dataclasses.dataclass(frozen=True)
class RunDirectory:
  """A trainer's run directory; each method reads its current state."""

  path: str
  corpus_fingerprint: str
  in_order: bool = False  # Whether to embed all parameters, oldest first.
  once: bool = False  # Whether to treat training as done.

  def next_params(self) -> versions.Version | None:
    """Returns the next parameter version to embed with, or None."""
    root = layout.params_root(self.path)
    if not self.in_order:
      return versions.newest(root)
    index = self.newest_index()
    return versions.oldest(root, -1 if index is None else index.step)

  def newest_index(self) -> versions.Version | None:
    return versions.newest(layout.index_root(self.path))

  def unfinished_index(self) -> versions.Version | None:
    """Returns the newest begun index version; None if a newer is complete."""
    root = layout.index_root(self.path)
    for step in reversed(versions.steps(root)):
      path = versions.version_path(root, step)
      if versions.is_complete(path):
        return None
      plan = storage.read_plan(path)
      if plan and plan.corpus_fingerprint == self.corpus_fingerprint:
        return versions.Version(step, path)
    return None

  def is_training_done(self) -> bool:
    return self.once or tf.io.gfile.exists(layout.done_file(self.path))


def refresh_until_done(
  run: RunDirectory,
  publish_index: Callable[[versions.Version], Any],
  wait: Callable[[], None],
  max_failures: int = 1,
) -> int:
  """Publishes indexes of `run.next_params` until training is done.

  No index is built twice, nor an older one after a newer one, even after a
  restart. A begun index is finished first; otherwise a job that is often
  stopped might never publish one. Returns the number of published indexes.

  Args:
    publish_index: Embeds all blocks with the version and publishes the index.
    wait: Called when there is nothing to do and after a failure.
    max_failures: Consecutive failures, e.g. of the disk, that end the job; the
      last one is a UserError.
  """
  num_published, num_failures = 0, 0
  given_up: set[int] = set()  # Unfinished versions that failed.
  while True:
    done = run.is_training_done()  # Read first: no parameters are missed.
    target = _target(run, given_up)
    if target is not None:
      logging.info('Building the index of step %d.', target.step)
      try:
        publish_index(target)
        num_published, num_failures = num_published + 1, 0
        continue
      except (errors.UserError, OSError, tf.errors.OpError) as error:
        num_failures += 1
        given_up.add(target.step)
        found = str(error).strip().rstrip('.') or type(error).__name__
        if num_failures >= max_failures:
          if isinstance(error, errors.UserError):
            raise
          raise errors.UserError(
            f'The index of {target.path} must be written. Found: {found}. Fix '
            'that and start the refresher again: it continues.'
          ) from error
        logging.error(
          'No index of %s (failure %d of at most %d in a row): %s',
          target.path,
          num_failures,
          max_failures,
          found,
        )
    elif done:
      return num_published
    wait()


def _target(run: RunDirectory, given_up: set[int]) -> versions.Version | None:
  """Returns the version for the next index, or None."""
  target, index = run.next_params(), run.newest_index()
  unfinished = run.unfinished_index()
  if unfinished is not None and unfinished.step not in given_up:
    target = unfinished
  is_old = target and index and target.step <= index.step
  return None if is_old else target
