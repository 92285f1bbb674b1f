"""Base class of all trainers: batches from the host, one compiled step.

The loop runs on the host, so retrieval and index swaps happen between two
steps. Under a strategy each replica gets its part of the batch; loss,
gradients, norms and logs belong to the whole batch.
"""

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
import contextlib
import time
from typing import Any, Generic, Optional, TypeVar

import orbit
import tensorflow as tf
import tf_keras

from realm_tf.modeling import dropout
from realm_tf.modeling import strategies
from realm_tf.training import gradients as gradients_lib
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import step_logs

# A TypedDict of a job: NumPy arrays on the host, tensors in the compiled step.
Batch = TypeVar('Batch', bound=Mapping[str, Any])
LossAndLogs = tuple[tf.Tensor, dict[str, tf.Tensor]]
# Loss, logs and gradients of one replica.
Computed = tuple[tf.Tensor, dict[str, tf.Tensor], list[gradients_lib.Gradient]]
# Log: above 0 if any process received a request to stop.
_STOP = 'stop'


class StopRequested(Exception):  # noqa: N818, no error.
  """Raised between two steps: the variables have the last finished step."""


class StepTrainer(orbit.StandardTrainer, abc.ABC, Generic[Batch]):
  """Runs one compiled update per batch; subclasses define the loss.

  Must be created in the scope of its strategy. The loop sets `train_dataset`,
  an endless iterator of this host's part of each batch.

  Args:
    variables: Variables to train; by default all trainable ones of `model`.
    jit_compile: Whether XLA compiles loss and gradients, on one device only: it
      cannot compile the communication of replicas. XLA fuses all operations
      between two matmuls, forwards and backwards: half of a step on CPU.

  Attributes:
    before_steps: Called before each step with its number.
    last_batch: The host's part of the last batch.
  """

  def __init__(
    self,
    optimizer: tf_keras.optimizers.Optimizer,
    model: Any,
    variables: Optional[Sequence[tf.Variable]] = None,
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
    self.before_steps: list[Callable[[int], None]] = []
    self.skipped = step_logs.SkippedSteps()
    self._trained_variables = list(
      model.trainable_variables if variables is None else variables
    )
    optimizer_lib.make_moments(optimizer, self._trained_variables)
    self._strategy = tf.distribute.get_strategy()
    self._jit_compile = jit_compile and self._strategy.num_replicas_in_sync == 1
    self._compiled_step = tf.function(self.distributed_step)
    self._dropout: Callable[..., contextlib.AbstractContextManager[None]] = (
      lambda step, part=0: contextlib.nullcontext()
    )
    self._logs = step_logs.StepLogs()
    self._next_step = 0  # A copy: reading the global step waits for the device.
    self.last_batch: Optional[Batch] = None

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
    self._next_step = int(self.global_step.numpy())

  def request_stop(self) -> None:
    """Makes `train_step` raise `StopRequested`; for a signal handler.

    Several processes stop before the same step, unless they wait for batches.
    """
    self._stop_requested = True
    if self._is_waiting:
      raise StopRequested

  def train_step(self, iterator: Iterator[Batch]) -> None:
    if self._must_stop():
      raise StopRequested
    for call in self.before_steps:
      call(self._next_step)
    batch = self.before_step(self._wait_for_batch(iterator), self._next_step)
    self.last_batch = batch
    logs = self._compiled_step(
      strategies.spread(self._strategy, batch),
      tf.constant(float(self._stop_requested)),
    )
    self._logs.add(self._strategy.experimental_local_results(logs)[0])
    self._next_step += 1

  def train_loop_end(self) -> dict[str, float]:
    rate = self.optimizer.learning_rate
    logs = self._logs.means()
    logs.pop(_STOP, None)
    logs['learning_rate'] = float(
      rate(self._next_step) if callable(rate) else rate
    )
    logs['num_traces'] = self.num_traces
    return {**logs, **self.host_logs()}

  def before_step(self, batch: Batch, step: int) -> Batch:
    """Returns the batch without fields that stay on the host."""
    del step
    return batch

  def host_logs(self) -> dict[str, float]:
    """Returns more metrics for the end of a loop."""
    return {}

  def compute(self, batch: Batch) -> Computed:
    """Returns loss, logs and this replica's gradients: dense, or None."""
    if not self._jit_compile:
      return self._compute(batch)
    # A new function, because it captures this trace's dropout seed.
    return tf.function(self._compute, jit_compile=True)(batch)

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

  def _must_stop(self) -> bool:
    if strategies.num_workers(self._strategy) == 1:
      return self._stop_requested
    # The last step may still be running, so its vector is not read.
    return self._logs.before_last(_STOP) > 0

  def _wait_for_batch(self, iterator: Iterator[Batch]) -> Batch:
    begun = time.monotonic()
    self._is_waiting = True
    try:
      batch = next(iterator)
    finally:
      self._is_waiting = False
    self._logs.waited(time.monotonic() - begun, len(next(iter(batch.values()))))
    return batch

  def distributed_step(self, batch: Batch, stop: tf.Tensor) -> tf.Tensor:
    """Returns the logs after one step of all replicas; for a compiler."""
    return self._strategy.run(self._step, args=(batch, stop))

  def _step(self, batch: Batch, stop: tf.Tensor) -> tf.Tensor:
    with self._dropout(self.global_step):
      loss, logs, gradients = self.compute(batch)
    logs = self._logs.mean_over_replicas({'loss': loss, _STOP: stop, **logs})
    gradients = gradients_lib.sum_over_replicas(gradients)
    norms = gradients_lib.norms(gradients, self._trained_variables)
    is_good = tf.math.is_finite(norms['gradient_norm'] + logs['loss'])
    optimizer_lib.apply(
      self.optimizer,
      gradients_lib.clip(
        gradients,
        norms['gradient_norm'],
        getattr(self.optimizer, 'gradient_clip_norm', 0.0),
      ),
      self._trained_variables,
      is_good=is_good,
    )
    logs = {**logs, **norms, **self.skipped.count(is_good)}
    return self._logs.as_vector(logs)
