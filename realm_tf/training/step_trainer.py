"""Base class of all trainers: batches from the host, one compiled step.

The loop runs on the host, so retrieval and index swaps happen between two
steps. Under a strategy each replica gets its part of the batch; loss,
gradients, norms and logs belong to the whole batch.
"""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import time
from typing import Any

import numpy as np
import orbit
import tensorflow as tf
import tf_keras

from realm_tf.model import dropout
from realm_tf.model import strategies
from realm_tf.training import optimizer as optimizer_lib

# NumPy arrays and numbers on the host, tensors in the compiled step.
Batch = dict[str, Any]
LossAndLogs = tuple[tf.Tensor, dict[str, tf.Tensor]]
# Loss, logs and gradients of one replica.
Computed = tuple[tf.Tensor, dict[str, tf.Tensor], list[optimizer_lib.Gradient]]
# Log: above 0 if any process received a request to stop.
_STOP = 'stop'
_SKIPPED, _IN_A_ROW = 'skipped_steps', 'skipped_in_a_row'


class StopRequested(Exception):  # noqa: N818, no error.
  """Raised between two steps: the variables have the last finished step."""


class SkippedSteps(tf.Module):
  """Counts steps whose loss or gradient is not finite; part of checkpoints."""

  def __init__(self) -> None:
    super().__init__(name='skipped_steps')
    self.total, self.in_a_row = (
      tf.Variable(
        0,
        trainable=False,
        name=name,
        dtype=tf.int32,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
      )
      for name in ('total', 'in_a_row')
    )

  def count(self, is_good: tf.Tensor) -> dict[str, tf.Tensor]:
    """Counts a step, in a replica; returns both counts as logs."""
    bad = 1 - tf.cast(is_good, tf.int32)
    total, in_a_row = self.total + bad, (self.in_a_row + 1) * bad
    self.total.assign(total)
    self.in_a_row.assign(in_a_row)
    return {_SKIPPED: total, _IN_A_ROW: in_a_row}


class StepLogs:
  """Collects the logs of compiled steps: a vector per step, a row per loop.

  The vectors stay on the device until the host reads them, once per loop.
  """

  def __init__(self) -> None:
    self._names: list[str] = []
    self.reset()

  def reset(self) -> None:
    """Begins a loop."""
    self._vectors: list[tf.Tensor] = []
    self._numbers: dict[str, list[float]] = {}
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
    (total,) = optimizer_lib.all_reduce([tf.stack(means)])
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

  def waited(self, secs: float, num_examples: int, **numbers: float) -> None:
    """Adds the wait for a batch, the batch's size, and numbers of the host."""
    self._waited_secs += secs
    self._num_examples += num_examples
    for name, number in numbers.items():
      self._numbers.setdefault(name, []).append(number)

  def means(self) -> dict[str, float]:
    """Returns the loop's row: means over its good steps, and rates."""
    rows = np.array([vector.numpy() for vector in self._vectors])
    secs = max(time.monotonic() - self._begun, 1e-9)
    row = {
      'examples_per_second': self._num_examples / secs,
      'share_of_time_waiting': self._waited_secs / secs,
    }
    for name, numbers in self._numbers.items():
      row[name], row[f'{name}_max'] = float(np.mean(numbers)), max(numbers)
    if not len(rows):
      return row
    last = dict(zip(self._names, rows[-1].tolist(), strict=True))
    good = rows[rows[:, self._names.index(_IN_A_ROW)] == 0]
    if len(good):
      row |= dict(zip(self._names, good.mean(axis=0).tolist(), strict=True))
    return {**row, _SKIPPED: last[_SKIPPED], _IN_A_ROW: last[_IN_A_ROW]}


class StepTrainer(orbit.StandardTrainer, abc.ABC):
  """Runs one compiled update per batch; subclasses define the loss.

  Must be created in the scope of its strategy. The loop sets `train_dataset`,
  an endless iterator of this host's part of each batch. Its arrays go into the
  step; its numbers stay on the host, which logs their mean and maximum.

  Args:
    variables: Variables to train; by default all trainable ones of `model`.
    jit_compile: Whether XLA compiles loss and gradients, on one device only: it
      cannot compile the communication of replicas. XLA fuses all operations
      between two matmuls, forwards and backwards: half of a step on CPU.

  Attributes:
    last_batch: The host's part of the last batch.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: Any,
    variables: Sequence[tf.Variable] | None = None,
    *,
    jit_compile: bool = False,
  ):
    super().__init__(
      None,
      orbit.StandardTrainerOptions(
        use_tf_while_loop=False, use_tf_function=False
      ),
    )
    self.optimizer, self.model = optimizer, model
    self._stop_requested = self._is_waiting = False
    self.skipped = SkippedSteps()
    self._trained_variables = list(
      model.trainable_variables if variables is None else variables
    )
    # Makes the moments: else the first step makes them and compiles twice.
    optimizer._create_all_weights(self._trained_variables)  # pylint: disable=protected-access
    self._strategy = tf.distribute.get_strategy()
    self._jit_compile = jit_compile and self._strategy.num_replicas_in_sync == 1
    self._compiled_step = tf.function(self.distributed_step, autograph=False)
    self._dropout: Callable[..., contextlib.AbstractContextManager[None]] = (
      lambda step, part=0: contextlib.nullcontext()
    )
    self._logs = StepLogs()
    self.last_batch: Batch | None = None

  @abc.abstractmethod
  def loss_and_logs(self, batch: Batch) -> LossAndLogs:
    """Returns the scalar loss, and logs of any shapes.

    Runs in the compiled step on one replica's part of the batch. The batch's
    loss is the mean over replicas.
    """

  @property
  def global_step(self) -> tf.Variable:
    return self.optimizer.iterations

  @property
  def num_traces(self) -> int:
    """Number of traces of the step: one for each shape of a batch."""
    return self._compiled_step.experimental_get_tracing_count()

  def seed_dropout(self, seed: int) -> None:
    """Makes the dropout of `model` a function of `seed` and step."""
    self._dropout = dropout.StepDropout(self.model, seed).at

  def train_loop_begin(self) -> None:
    self._logs.reset()

  def request_stop(self) -> None:
    """Makes `train_step` raise `StopRequested`; for a signal handler.

    Several processes stop before the same step, unless they wait for batches.
    """
    self._stop_requested = True
    if self._is_waiting:
      raise StopRequested

  def pause(self) -> None:
    """Waits a moment in a thread that makes a batch; ends it at a stop."""
    time.sleep(0.2)
    if self._stop_requested:
      raise StopRequested

  def train_step(self, iterator: Iterator[Batch]) -> None:
    must_stop = self._stop_requested
    if strategies.num_workers(self._strategy) > 1:
      # The last step may still be running, so its vector is not read.
      must_stop = self._logs.before_last(_STOP) > 0
    if must_stop:
      raise StopRequested
    begun = time.monotonic()
    self._is_waiting = True
    try:
      fields = next(iterator)
    finally:
      self._is_waiting = False
    numbers = {n: each for n, each in fields.items() if isinstance(each, int)}
    batch = {n: each for n, each in fields.items() if n not in numbers}
    self.last_batch = batch
    self._logs.waited(
      time.monotonic() - begun, len(next(iter(batch.values()))), **numbers
    )
    logs = self._compiled_step(
      strategies.spread(self._strategy, batch),
      tf.constant(float(self._stop_requested)),
    )
    self._logs.add(self._strategy.experimental_local_results(logs)[0])

  def train_loop_end(self) -> dict[str, float]:
    rate = self.optimizer.learning_rate
    if callable(rate):
      rate = rate(int(self.global_step.numpy()))
    logs = self._logs.means()
    logs.pop(_STOP, None)
    return {**logs, 'learning_rate': float(rate), 'num_traces': self.num_traces}

  def compute(self, batch: Batch) -> Computed:
    """Returns loss, logs and this replica's gradients: dense, or None."""
    if not self._jit_compile:
      return self._compute(batch)
    # A new function, because it captures this trace's dropout seed.
    return tf.function(self._compute, jit_compile=True, autograph=False)(batch)

  def _compute(self, batch: Batch) -> Computed:
    share = 1.0 / self._strategy.num_replicas_in_sync
    with tf.GradientTape() as tape:
      loss, logs = self.loss_and_logs(batch)
      part = share * loss
    gradients = [
      None if each is None else tf.convert_to_tensor(each)
      for each in tape.gradient(part, self._trained_variables)
    ]
    return loss, logs, gradients

  def distributed_step(self, batch: Batch, stop: tf.Tensor) -> tf.Tensor:
    """Returns the logs after one step of all replicas; for a compiler."""
    return self._strategy.run(self._step, args=(batch, stop))

  def _step(self, batch: Batch, stop: tf.Tensor) -> tf.Tensor:
    with self._dropout(self.global_step):
      loss, logs, gradients = self.compute(batch)
    logs = self._logs.mean_over_replicas({'loss': loss, _STOP: stop, **logs})
    gradients = optimizer_lib.sum_over_replicas(gradients)
    norms = optimizer_lib.norms(gradients, self._trained_variables)
    is_good = tf.math.is_finite(norms['gradient_norm'] + logs['loss'])
    if limit := getattr(self.optimizer, 'gradient_clip_norm', 0.0):
      gradients, _ = tf.clip_by_global_norm(
        gradients, limit, norms['gradient_norm']
      )
    optimizer_lib.apply(
      self.optimizer, gradients, self._trained_variables, is_good=is_good
    )
    logs = {**logs, **norms, **self.skipped.count(is_good)}
    return self._logs.as_vector(logs)
