"""Configures the optimizer of a job."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class OptimizerConfig(fields.Config):
  """BERT's AdamW with linear warm-up and linear decay to zero.

  Attributes:
    learning_rate: Peak, at the end of the warm-up.
    warmup_steps: 0 means min(10000, max(100, num_steps / 10)), and never more
      than half the steps.
    weight_decay_rate: Decoupled; none for LayerNorm and biases.
    gradient_clip_norm: Bound on the global norm.
    embedder_rate_scale: The embedders' learning rate over `learning_rate`; 0
      leaves them unchanged.
    max_skipped_steps: Training ends after so many steps in a row whose loss or
      gradient is not finite; each of them is left out. 0 never ends it.
  """

  learning_rate: float = fields.positive(3e-5)
  num_steps: int = fields.positive(200_000)
  warmup_steps: int = 0
  weight_decay_rate: float = 0.01
  gradient_clip_norm: float = 1.0
  embedder_rate_scale: float = fields.not_negative(1.0)
  max_skipped_steps: int = fields.not_negative(10)

  @property
  def resolved_warmup_steps(self) -> int:
    default = min(10_000, max(100, self.num_steps // 10))
    return min(self.warmup_steps or default, max(1, self.num_steps // 2))
