"""BERT's AdamW with linear warm-up and decay, from official.nlp."""

from official.nlp import optimization
import tf_keras

from realm_tf import config as config_lib


def create(config: config_lib.OptimizerConfig) -> tf_keras.optimizers.Optimizer:
  """Builds the optimizer of every training job.

  Decoupled weight decay except for LayerNorm and biases, gradients clipped by
  their global norm, learning rate 0 -> `learning_rate` -> 0.

  Deviation: BERT's own AdamW has no bias correction; official's corrects.
  """
  decay = tf_keras.optimizers.schedules.PolynomialDecay(
    config.learning_rate, config.num_steps, end_learning_rate=0.0
  )
  schedule = optimization.WarmUp(
    config.learning_rate, decay, config.resolved_warmup_steps
  )
  return optimization.AdamWeightDecay(
    learning_rate=schedule,
    weight_decay_rate=config.weight_decay_rate,
    beta_1=0.9,
    beta_2=0.999,
    epsilon=1e-6,
    exclude_from_weight_decay=['LayerNorm', 'layer_norm', 'bias'],
    gradient_clip_norm=config.gradient_clip_norm,
  )
