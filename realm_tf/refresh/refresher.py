"""Re-embeds the corpus whenever the trainer publishes new parameters.

  parameter version -> [this file] -> index version

The second of the two jobs of Section 3.3 of Guu et al. 2020. Trainer and
workers communicate through the run directory only.
"""

from collections.abc import Callable, Container
import dataclasses
from typing import Any, Optional

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import index_plan
from realm_tf.rundir import layout
from realm_tf.rundir import versions


@dataclasses.dataclass(frozen=True)
class RunDirectory:
  """State of a trainer's run directory; each method reads it anew.

  Attributes:
    corpus_fingerprint: Fingerprint of the corpus that is embedded.
    in_order: Whether to embed every parameter version, oldest first.
    once: Whether to treat training as done.
  """

  path: str
  corpus_fingerprint: str
  in_order: bool = False
  once: bool = False

  def next_params(self) -> Optional[versions.Version]:
    """Returns the parameter version to embed with next, or None."""
    root = layout.params_root(self.path)
    if not self.in_order:
      return versions.newest(root)
    index = self.newest_index()
    return versions.oldest(root, -1 if index is None else index.step)

  def newest_index(self) -> Optional[versions.Version]:
    return versions.newest(layout.index_root(self.path))

  def unfinished_index(self) -> Optional[versions.Version]:
    """Returns the newest begun index version; None if a newer is complete."""
    root = layout.index_root(self.path)
    return index_plan.find_unfinished(root, self.corpus_fingerprint)

  def is_training_done(self) -> bool:
    """Returns whether the trainer publishes nothing more."""
    return self.once or tf.io.gfile.exists(layout.done_file(self.path))


def refresh_until_done(
  run: RunDirectory,
  publish_index: Callable[[versions.Version], Any],
  wait: Callable[[], None],
  max_failures: int = 1,
) -> int:
  """Publishes one index per parameter version until training is done.

  A new index is built from `run.next_params`. No index is built twice, nor an
  older one after a newer one, even after a restart. An index that was begun is
  finished first: otherwise a job that is stopped more often than a refresh
  takes would never publish one.

  Args:
    publish_index: Embeds all blocks with the version and publishes the index.
    wait: Called when there is nothing to do and after a failure.
    max_failures: Consecutive failures, e.g. of the disk, that end the job.

  Returns:
    The number of index versions published.

  Raises:
    UserError: The last of `max_failures` failures.
  """
  num_published, num_failures = 0, 0
  given_up: set[int] = set()  # Unfinished versions that failed.
  while True:
    done = run.is_training_done()  # Read first, so the last one is not missed.
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
        _report(error, target, num_failures, max_failures)
    elif done:
      return num_published
    wait()


def _target(
  run: RunDirectory, given_up: Container[int]
) -> Optional[versions.Version]:
  """Returns the version to build the index of, if any."""
  params, index = run.next_params(), run.newest_index()
  published_step = -1 if index is None else index.step
  unfinished = run.unfinished_index()
  if unfinished is not None and unfinished.step not in given_up:
    params = unfinished
  if params is None or params.step <= published_step:
    return None
  return params


def _report(
  error: Exception,
  target: versions.Version,
  num_failures: int,
  max_failures: int,
) -> None:
  """Logs a failure; raises UserError if it is the last."""
  if num_failures >= max_failures:
    if isinstance(error, errors.UserError):
      raise error
    raise errors.UserError(
      f'The index of {target.path} must be written. Found: {_line(error)}. '
      'Fix that and start the refresher again: it continues.'
    ) from error
  logging.error(
    'No index of %s (failure %d of at most %d in a row): %s',
    target.path,
    num_failures,
    max_failures,
    _line(error),
  )


def _line(error: Exception) -> str:
  return str(error).strip().rstrip('.') or type(error).__name__
