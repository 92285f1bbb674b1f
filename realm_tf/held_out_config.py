"""The hyperparameters of evaluation on held-out articles."""

import dataclasses

from realm_tf import config_checks


@dataclasses.dataclass(frozen=True)
class HeldOutConfig:
  """Sentences that pre-training and ICT are measured on, and never train on.

  Attributes:
    share: Of the articles whose sentences are held out; their blocks stay in
      the corpus. 0 holds out none, as in the paper.
    num_queries: Sentences that are measured, or fewer if there are fewer.
  """

  share: float = 0.0
  num_queries: int = 256

  def __post_init__(self):
    config_checks.check_positive(self, 'num_queries')
    config_checks.check(
      0 <= self.share < 1, '`share` must be in [0, 1).', share=self.share
    )
