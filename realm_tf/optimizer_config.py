"""The hyperparameters of an optimizer: a part of every training config."""

import dataclasses

from realm_tf import config_checks


@dataclasses.dataclass(frozen=True)
class OptimizerConfig:
  """BERT's AdamW with linear warm-up and linear decay to zero.

  Attributes:
    learning_rate: At the end of the warm-up.
    num_steps: Updates in all.
    warmup_steps: 0 means min(10000, max(100, num_steps / 10)), and never more
      than half the steps.
    weight_decay_rate: Decoupled; none for LayerNorm and biases.
    gradient_clip_norm: Bound on the global norm.
    embedder_rate_scale: The embedders' learning rate over `learning_rate`.
    max_skipped_steps: Training ends after so many steps in a row whose loss or
      gradient is not finite; each of them is left out. 0 goes on for ever.
  """

  learning_rate: float = 3e-5
  num_steps: int = 200_000
  warmup_steps: int = 0
  weight_decay_rate: float = 0.01
  gradient_clip_norm: float = 1.0
  embedder_rate_scale: float = 1.0
  max_skipped_steps: int = 10

  def __post_init__(self):
    config_checks.check_positive(
      self, 'learning_rate', 'num_steps', 'embedder_rate_scale'
    )
    config_checks.check_not_negative(self, 'max_skipped_steps')

  @property
  def resolved_warmup_steps(self) -> int:
    default = min(10_000, max(100, self.num_steps // 10))
    return min(self.warmup_steps or default, max(1, self.num_steps // 2))
