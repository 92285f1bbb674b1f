"""BERT's AdamW with linear warm-up and decay, from official.nlp."""

from official.nlp import optimization
import tf_keras

from realm_tf import config as config_lib
from realm_tf.modeling import realm_model


def create(config: config_lib.OptimizerConfig) -> tf_keras.optimizers.Optimizer:
  """Builds the optimizer of every training job.

  Decoupled weight decay except for LayerNorm and biases, gradients clipped by
  their global norm, learning rate 0 -> `learning_rate` -> 0, the embedders' by
  `embedder_rate_scale`.

  Deviation: BERT's own AdamW has no bias correction; official's corrects.
  """
  decay = tf_keras.optimizers.schedules.PolynomialDecay(
    config.learning_rate, config.num_steps, end_learning_rate=0.0
  )
  schedule = optimization.WarmUp(
    config.learning_rate, decay, config.resolved_warmup_steps
  )
  return _AdamW(
    config.embedder_rate_scale,
    learning_rate=schedule,
    weight_decay_rate=config.weight_decay_rate,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    exclude_from_weight_decay=['LayerNorm', 'layer_norm', 'bias'],
    gradient_clip_norm=config.gradient_clip_norm,
  )


class _AdamW(optimization.AdamWeightDecay):
  """AdamW with a learning rate of its own for the embedders.

  Adam's steps do not change when gradients are scaled, so the rate itself is.

  Args:
    embedder_rate_scale: Of the embedders' rate, and so of their decay.
    **kwargs: Of AdamWeightDecay.
  """

  def __init__(self, embedder_rate_scale: float, **kwargs):
    super().__init__(**kwargs)
    self._embedder_rate_scale = embedder_rate_scale

  def get_config(self):
    scale = self._embedder_rate_scale
    return {**super().get_config(), 'embedder_rate_scale': scale}

  def _resource_apply_dense(self, grad, var, apply_state=None):
    return super()._resource_apply_dense(
      grad, var, self._scaled(var, apply_state)
    )

  def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
    return super()._resource_apply_sparse(
      grad, var, indices, self._scaled(var, apply_state)
    )

  def _scaled(self, var, apply_state):
    """Returns `apply_state` with the learning rate of `var`."""
    if not var.name.startswith(realm_model.EMBEDDER_PREFIXES):
      return apply_state
    key = (var.device, var.dtype.base_dtype)
    rates = {
      name: apply_state[key][name] * self._embedder_rate_scale
      for name in ('lr', 'lr_t')  # Of sparse and of dense gradients.
    }
    return {key: {**apply_state[key], **rates}}
