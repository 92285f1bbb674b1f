"""Collects the logs of compiled steps: a vector per step, a row per loop.

The vectors stay on the device until the host reads them, once per loop.
"""

from collections.abc import Mapping
import time

import numpy as np
import tensorflow as tf

from realm_tf.training import gradients as gradients_lib

_SKIPPED, _IN_A_ROW = 'skipped_steps', 'skipped_in_a_row'


class SkippedSteps(tf.Module):
  """Counts steps whose loss or gradient is not finite; part of checkpoints."""

  def __init__(self) -> None:
    super().__init__(name='skipped_steps')
    self.total = _counter('total')
    self.in_a_row = _counter('in_a_row')

  def count(self, is_good: tf.Tensor) -> dict[str, tf.Tensor]:
    """Counts a step, in a replica; returns both counts as logs."""
    bad = 1 - tf.cast(is_good, tf.int32)
    total, in_a_row = self.total + bad, (self.in_a_row + 1) * bad
    self.total.assign(total)
    self.in_a_row.assign(in_a_row)
    return {_SKIPPED: total, _IN_A_ROW: in_a_row}


class StepLogs:
  """Collects the vectors of a loop and averages them."""

  def __init__(self) -> None:
    self._names: list[str] = []
    self.reset()

  def reset(self) -> None:
    """Begins a loop."""
    self._vectors: list[tf.Tensor] = []
    self._waited_secs, self._num_examples = 0.0, 0
    self._begun = time.monotonic()

  def mean_over_replicas(
    self, logs: Mapping[str, tf.Tensor]
  ) -> dict[str, tf.Tensor]:
    """Returns each log's mean over the batch, float32 []; in a replica."""
    means = [
      tf.reduce_mean(tf.cast(each, tf.float32)) for each in logs.values()
    ]
    replica = tf.distribute.get_replica_context()
    (total,) = gradients_lib.all_reduce([tf.stack(means)])
    total /= replica.num_replicas_in_sync
    return dict(zip(logs, tf.unstack(total), strict=True))

  def as_vector(self, logs: Mapping[str, tf.Tensor]) -> tf.Tensor:
    """Returns scalars as float32 [n] and keeps their names, while tracing."""
    self._names = sorted(logs)
    return tf.stack([tf.cast(logs[name], tf.float32) for name in self._names])

  def add(self, vector: tf.Tensor) -> None:
    self._vectors.append(vector)

  def before_last(self, name: str) -> float:
    """Returns a log of the loop's second to last step, or 0."""
    if len(self._vectors) < 2:
      return 0.0
    return float(self._vectors[-2][self._names.index(name)])

  def waited(self, secs: float, num_examples: int) -> None:
    """Adds the waiting time for a batch, and the batch's size."""
    self._waited_secs += secs
    self._num_examples += num_examples

  def means(self) -> dict[str, float]:
    """Returns the loop's row: means over its good steps, and rates."""
    rows = np.array([vector.numpy() for vector in self._vectors])
    secs = max(time.monotonic() - self._begun, 1e-9)
    row = {
      'examples_per_second': self._num_examples / secs,
      'share_of_time_waiting': self._waited_secs / secs,
    }
    if not len(rows):
      return row
    last = dict(zip(self._names, rows[-1].tolist(), strict=True))
    good = rows[rows[:, self._names.index(_IN_A_ROW)] == 0]
    if len(good):
      row |= dict(zip(self._names, good.mean(axis=0).tolist(), strict=True))
    return {**row, _SKIPPED: last[_SKIPPED], _IN_A_ROW: last[_IN_A_ROW]}


def _counter(name: str) -> tf.Variable:
  return tf.Variable(
    0,
    trainable=False,
    name=name,
    dtype=tf.int32,
    aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
  )
