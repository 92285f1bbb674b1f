"""Measures the age of the index that gave a step's candidates.

The age is in steps since the index's parameters, and in seconds since the
parameters' files were written.
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
    clock: Seconds since the epoch, like the files' times.
  """

  def __init__(self, run_dir: str, clock: Callable[[], float] = time.time):
    self._run_dir, self._clock = run_dir, clock
    self._written: dict[int, float] = {}  # By step of the parameters.
    self._seen: list[tuple[int, float]] = []

  def see(self, index_step: int, step: int) -> None:
    """Records that training step `step` uses the index of `index_step`."""
    now = self._clock()
    if index_step not in self._written:
      self._written[index_step] = self._time_of(index_step, now)
    # No negative age: a resumed trainer may be at an earlier step than the
    # index, and another machine's clock may be ahead.
    self._seen.append(
      (max(0, step - index_step), max(0.0, now - self._written[index_step]))
    )

  def reset(self) -> None:
    self._seen = []

  def logs(self) -> dict[str, float]:
    """Returns mean and maximum since `reset`, or {}."""
    if not self._seen:
      return {}
    steps, secs = np.array(self._seen, np.float64).T
    return {
      'index_age_steps': float(steps.mean()),
      'index_age_steps_max': float(steps.max()),
      'index_age_seconds': float(secs.mean()),
      'index_age_seconds_max': float(secs.max()),
    }

  def _time_of(self, step: int, default: float) -> float:
    """Returns when parameters `step`, else their index, were written."""
    for root in (layout.params_root, layout.index_root):
      path = versions.version_path(root(self._run_dir), step)
      try:
        stat = tf.io.gfile.stat(os.path.join(path, manifests.NAME))
        return stat.mtime_nsec / 1e9
      except (OSError, tf.errors.OpError):
        continue
    return default
