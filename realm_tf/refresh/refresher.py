"""Re-embeds the corpus whenever the trainer publishes new parameters.

  parameter version -> [this file] -> index version

The second of the two jobs of Section 3.3 of Guu et al. 2020. Trainer and
workers communicate through the run directory only.
"""

from collections.abc import Callable
import functools
from typing import Any, NamedTuple, Optional

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import index_plan
from realm_tf.rundir import layout
from realm_tf.rundir import versions


class RunDirectory(NamedTuple):
  """Current state of a run directory; each call reads it anew.

  Attributes:
    next_params: Returns the parameter version to embed with, or None: the
      newest or, if none may be skipped, the oldest without an index.
    newest_index: Returns the newest complete index version, or None.
    unfinished_index: Returns the newest index version that was begun, or None
      if a complete one is newer.
    is_training_done: Returns whether the trainer publishes nothing more.
  """

  next_params: Callable[[], Optional[versions.Version]]
  newest_index: Callable[[], Optional[versions.Version]]
  unfinished_index: Callable[[], Optional[versions.Version]]
  is_training_done: Callable[[], bool]


def look_at(
  run_dir: str, corpus_fingerprint: str, in_order: bool, once: bool
) -> RunDirectory:
  """Opens the run directory of a trainer.

  Args:
    corpus_fingerprint: Fingerprint of the corpus that is embedded.
    in_order: Whether to embed every parameter version, oldest first.
    once: Whether to treat training as done.
  """
  params_root = layout.params_root(run_dir)
  index_root = layout.index_root(run_dir)

  def oldest_without_index():
    index = versions.newest(index_root)
    return versions.oldest(params_root, -1 if index is None else index.step)

  newest_params = functools.partial(versions.newest, params_root)
  return RunDirectory(
    oldest_without_index if in_order else newest_params,
    functools.partial(versions.newest, index_root),
    functools.partial(
      index_plan.find_unfinished, index_root, corpus_fingerprint
    ),
    lambda: once or tf.io.gfile.exists(layout.done_file(run_dir)),
  )


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
    wait: Called when there is nothing to do and after a failure, e.g.
      `lambda: time.sleep(5)`.
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


def _target(run, given_up):
  """Returns the version to build the index of, if any."""
  params, index = run.next_params(), run.newest_index()
  published_step = -1 if index is None else index.step
  unfinished = run.unfinished_index()
  if unfinished is not None and unfinished.step not in given_up:
    params = unfinished
  if params is None or params.step <= published_step:
    return None
  return params


def _report(error, target, num_failures, max_failures):
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


def _line(error):
  return str(error).strip().rstrip('.') or type(error).__name__
