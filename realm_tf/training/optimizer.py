"""From gradients to new weights: sums, norms, clipping, and BERT's AdamW.

AdamW and its warm-up are official.nlp's. Norms belong to the whole batch, so
every strategy gives the same result.
"""

from collections.abc import Sequence
from typing import Any, TypeAlias

from official.nlp import optimization
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import realm_model

Gradient: TypeAlias = tf.Tensor | None
# (device, dtype) -> learning rate and betas of a step, by Keras' names.
_State = dict[tuple[str, tf.DType], dict[str, tf.Tensor]]
_CLIP_NORM = 1.0  # BERT's bound on the global norm.
_DECAY_RATE = 0.01  # BERT's; decoupled.

# Rates of scalars over `learning_rate`. A bias is as large as scores and a
# temperature as their logarithm, but weights are hundredths.
_SCALAR_RATE_SCALES = {
  realm_model.LOG_TEMPERATURE: 10.0,
  realm_model.NULL_BIAS: 100.0,
}


def create(config: config_lib.OptimizerConfig) -> tf_keras.optimizers.Optimizer:
  """Builds every job's optimizer; LayerNorm, biases, scalars do not decay.

  Deviation: official's AdamW has bias correction, BERT's own has none.
  """
  decay = tf_keras.optimizers.schedules.PolynomialDecay(
    config.learning_rate, config.num_steps, end_learning_rate=0.0
  )
  default = min(10_000, max(100, config.num_steps // 10))
  schedule = optimization.WarmUp(
    config.learning_rate,
    decay,
    min(config.warmup_steps or default, max(1, config.num_steps // 2)),
  )
  return _AdamW(
    config.embedder_rate_scale,
    learning_rate=schedule,
    weight_decay_rate=_DECAY_RATE,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    exclude_from_weight_decay=[
      'LayerNorm',
      'layer_norm',
      'bias',
      realm_model.LOG_TEMPERATURE,
    ],
    gradient_clip_norm=_CLIP_NORM,
  )


def apply(
  optimizer: tf_keras.optimizers.Optimizer,
  gradients: Sequence[Gradient],
  variables: Sequence[tf.Variable],
  *,
  is_good: tf.Tensor,
) -> None:
  """Updates the variables, or skips the step, and counts it in both cases.

  Args:
    optimizer: Optimizer from `create`, or one without moments.
    gradients: Summed and clipped gradients, dense; None skips the variable.
    is_good: bool []; false skips the step.
  """
  if isinstance(optimizer, _AdamW):
    optimizer.is_good = is_good
  pairs = [
    (tf.where(is_good, gradient, tf.zeros_like(gradient)), variable)
    for gradient, variable in zip(gradients, variables, strict=True)
    if gradient is not None
  ]
  optimizer.apply_gradients(pairs, experimental_aggregate_gradients=False)


class _AdamW(optimization.AdamWeightDecay):
  """AdamW that can skip a step and scales the embedders' learning rate.

  Scaled gradients would not change Adam's steps. The scaled rate also scales
  the decay.
  """

  def __init__(self, embedder_rate_scale: float, **kwargs: Any):
    super().__init__(**kwargs)
    self._embedder_rate_scale = embedder_rate_scale
    self.is_good: tf.Tensor | None = None  # Set by `apply`.

  def _prepare_local(
    self, var_device: str, var_dtype: tf.DType, apply_state: _State
  ) -> None:
    super()._prepare_local(var_device, var_dtype, apply_state)
    if self.is_good is None:
      return
    # With these numbers Adam's update changes nothing. Replicas could not take
    # a branch together.
    state = apply_state[var_device, var_dtype]
    for name, value in ('lr_t', 0.0), ('beta_1_t', 1.0), ('beta_2_t', 1.0):
      state[name] = tf.where(
        self.is_good, state[name], tf.cast(value, state[name].dtype)
      )

  def _resource_apply_dense(
    self, grad: tf.Tensor, var: tf.Variable, apply_state: _State
  ) -> tf.Operation:
    if var.name.startswith(realm_model.EMBEDDER_PREFIXES):
      key = (var.device, var.dtype.base_dtype)
      scale = _SCALAR_RATE_SCALES.get(
        var.name.split(':')[0], self._embedder_rate_scale
      )
      state = apply_state[key]
      apply_state = {key: {**state, 'lr_t': state['lr_t'] * scale}}
    return super()._resource_apply_dense(grad, var, apply_state)


def sum_over_replicas(
  gradients: Sequence[tf.Tensor | tf.IndexedSlices | None],
) -> list[Gradient]:
  """Returns the gradients of the whole batch, dense; None stays None."""
  # Dense: the norm of slices would count a repeated row twice.
  there = [tf.convert_to_tensor(each) for each in gradients if each is not None]
  summed = iter(all_reduce(there))
  return [None if each is None else next(summed) for each in gradients]


def all_reduce(values: list[tf.Tensor]) -> list[tf.Tensor]:
  """Returns the sums over all replicas; runs in a replica."""
  replica = tf.distribute.get_replica_context()
  if replica.num_replicas_in_sync == 1 or not values:
    return values
  return replica.all_reduce(tf.distribute.ReduceOp.SUM, values)


def norms(
  gradients: Sequence[Gradient], variables: Sequence[tf.Variable]
) -> dict[str, tf.Tensor]:
  """Returns the global norm, and each tower's if there are two or more."""
  squares: dict[str, list[tf.Tensor]] = {}
  for gradient, variable in zip(gradients, variables, strict=True):
    if gradient is None:
      continue
    is_tower = variable.name.startswith(realm_model.EMBEDDER_PREFIXES)
    part = variable.name.partition('_')[0] if is_tower else 'reader'
    square = tf.reduce_sum(tf.square(tf.cast(gradient, tf.float32)))
    squares.setdefault(part, []).append(square)
  # Not `add_n`: its order of summation depends on the threads' speed, and so
  # does the last bit of the sum.
  root = lambda parts: tf.sqrt(tf.reduce_sum(tf.stack([tf.zeros([]), *parts])))
  result = {'gradient_norm': root(sum(squares.values(), []))}
  if len(squares) > 1:
    for part, values in squares.items():
      result[f'gradient_norm/{part}'] = root(values)
  return result
