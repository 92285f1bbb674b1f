"""What all trainers share: batches from the host, one compiled step.

  iterator of NumPy batches -> train_step -> compiled `_loss_and_logs` + update

The loop runs on the host, one compiled function a step: so retrieval and index
swaps happen between two steps and never inside one.
"""

import abc
from collections.abc import Iterator, Mapping, Sequence
import time

import numpy as np
import orbit
import tensorflow as tf
import tf_keras

Batch = Mapping[str, np.ndarray]


class StepTrainer(orbit.StandardTrainer, abc.ABC):
  """Runs one compiled update a batch; subclasses say what the loss is.

  Args:
    batches: Endless; arrays of few different shapes, for each shape is traced.
    optimizer: Its `iterations` are the global step.
    variables: What it updates.
  """

  def __init__(
    self,
    batches: Iterator[Batch],
    optimizer: tf_keras.optimizers.Optimizer,
    variables: Sequence[tf.Variable],
  ):
    super().__init__(
      batches,
      orbit.StandardTrainerOptions(
        use_tf_while_loop=False, use_tf_function=False
      ),
    )
    self.optimizer = optimizer
    self._trained_variables = list(variables)
    self._compiled_step = tf.function(self._step)
    self._metrics: dict[str, tf_keras.metrics.Mean] = {}
    self._waited_secs = 0.0
    self._begun = time.monotonic()
    self._num_examples = 0
    self.last_batch: Batch = {}

  @abc.abstractmethod
  def loss_and_logs(
    self, batch: Mapping[str, tf.Tensor]
  ) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
    """Returns the scalar loss and what to log, each of any shape.

    Runs inside the compiled step.
    """

  @property
  def global_step(self) -> tf.Variable:
    return self.optimizer.iterations

  def train_loop_begin(self):
    for metric in self._metrics.values():
      metric.reset_state()
    self._waited_secs, self._num_examples = 0.0, 0
    self._begun = time.monotonic()

  def train_step(self, iterator: Iterator[Batch]):
    begun = time.monotonic()
    batch = next(iterator)
    self._waited_secs += time.monotonic() - begun
    self._num_examples += len(next(iter(batch.values())))
    batch = self.before_step(batch)
    self.last_batch = batch
    outputs = self._compiled_step(
      {name: tf.constant(value) for name, value in batch.items()}
    )
    for name, value in self.after_step(batch, outputs).items():
      self._metrics.setdefault(name, tf_keras.metrics.Mean(name)).update_state(
        value
      )

  def train_loop_end(self):
    secs = max(time.monotonic() - self._begun, 1e-9)
    logs = {name: metric.result() for name, metric in self._metrics.items()}
    logs['examples_per_second'] = self._num_examples / secs
    logs['share_of_time_waiting'] = self._waited_secs / secs
    return {**logs, **self.host_logs()}

  def before_step(self, batch: Batch) -> Batch:
    """Takes out of a batch what stays on the host; nothing by default."""
    return batch

  def after_step(
    self, batch: Batch, outputs: dict[str, tf.Tensor]
  ) -> dict[str, tf.Tensor]:
    """Takes out of the step's outputs what is no log; nothing by default."""
    del batch
    return outputs

  def host_logs(self) -> dict[str, float]:
    """Returns what else to log at the end of a loop; nothing by default."""
    return {}

  def _step(self, batch):
    with tf.GradientTape() as tape:
      loss, logs = self.loss_and_logs(batch)
    gradients = tape.gradient(loss, self._trained_variables)
    logs['gradient_norm'] = tf.linalg.global_norm(
      [gradient for gradient in gradients if gradient is not None]
    )
    self.optimizer.apply_gradients(
      [
        (gradient, variable)
        for gradient, variable in zip(
          gradients, self._trained_variables, strict=True
        )
        if gradient is not None
      ]
    )
    return {'loss': loss, **logs}
