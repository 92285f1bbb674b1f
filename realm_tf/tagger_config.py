"""The hyperparameters of the salient-span tagger's training."""

import dataclasses

from realm_tf import config_checks
from realm_tf import optimizer_config


@dataclasses.dataclass(frozen=True)
class TaggerConfig:
  """A BERT that labels words (Section 3.4 uses one for named entities).

  Its networks' sizes are those of `model.reader_bert`.

  Attributes:
    optimizer: The release says nothing; BERT's own values for CoNLL-2003.
    batch_size: Sentences of a step.
    max_tokens: Longest sentence in training, [CLS] and [SEP] included; what is
      beyond has no label.
    tag_batch_size: Sentences tagged at once.
    checkpoint_every_steps: Steps between two checkpoints.
    log_every_steps: Steps between two lines of the log.
  """

  optimizer: optimizer_config.OptimizerConfig = (
    optimizer_config.OptimizerConfig(5e-5, 1500)
  )
  batch_size: int = 32
  max_tokens: int = 128
  tag_batch_size: int = 256
  checkpoint_every_steps: int = 500
  log_every_steps: int = 100

  def __post_init__(self):
    config_checks.check_positive(
      self,
      'batch_size',
      'tag_batch_size',
      'checkpoint_every_steps',
      'log_every_steps',
    )
    config_checks.check(
      self.max_tokens > 2,
      '`max_tokens` must be above 2.',
      max_tokens=self.max_tokens,
    )
