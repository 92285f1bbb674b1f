"""Measures the age of the index that a step's candidates came from.

The age is in steps since the index's parameters, and in seconds since they were
published: by the monotonic clock where this process published them, otherwise
by the time of their files.
"""

from collections.abc import Callable
import os
import time

import numpy as np
import tensorflow as tf

from realm_tf.rundir import layout
from realm_tf.rundir import manifests
from realm_tf.rundir import versions


class IndexAge:
  """Collects the ages over the steps of one row of the log.

  Args:
    secs_since: Returns the seconds since the parameters of a step were
      published, for those of another process.
    clock: Monotonic seconds.
  """

  def __init__(
    self,
    secs_since: Callable[[int], float],
    clock: Callable[[], float] = time.monotonic,
  ):
    self._secs_since = secs_since
    self._clock = clock
    self._published: dict[int, float] = {}  # Step -> by `clock`.
    self._seen: list[tuple[int, float]] = []

  def published(self, step: int) -> None:
    """Notes that the parameters of `step` are published now."""
    self._published.setdefault(step, self._clock())

  def see(self, index_step: int, step: int) -> None:
    """Notes that training step `step` uses the index of `index_step`."""
    now = self._clock()
    if index_step not in self._published:
      # A wall clock may have been set back meanwhile.
      self._published[index_step] = now - max(0.0, self._secs_since(index_step))
    # A trainer that resumes from before the index's step finds it too new.
    self._seen.append(
      (max(0, step - index_step), now - self._published[index_step])
    )

  def reset(self) -> None:
    self._seen = []

  def logs(self) -> dict[str, float]:
    """Returns mean and maximum since `reset`; nothing if nothing was seen."""
    if not self._seen:
      return {}
    steps, secs = np.array(self._seen, np.float64).T
    return {
      'index_age_steps': float(steps.mean()),
      'index_age_steps_max': float(steps.max()),
      'index_age_seconds': float(secs.mean()),
      'index_age_seconds_max': float(secs.max()),
    }


def secs_since_written(run_dir: str, step: int) -> float:
  """Returns the age of parameter version `step`'s files, by the wall clock.

  If it was removed, the age of its index; 0 if both are gone.
  """
  for root in (layout.params_root(run_dir), layout.index_root(run_dir)):
    manifest = os.path.join(versions.version_path(root, step), manifests.NAME)
    try:
      return time.time() - tf.io.gfile.stat(manifest).mtime_nsec / 1e9
    except (OSError, tf.errors.OpError):
      continue
  return 0.0
