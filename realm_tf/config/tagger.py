"""Configures the named-entity tagger."""

import dataclasses

from realm_tf.config import fields
from realm_tf.config.optimizer import OptimizerConfig


@dataclasses.dataclass(frozen=True)
class TaggerConfig(fields.Config):
  """A BERT that labels words (Section 3.4 uses one for named entities).

  Its networks' sizes are those of `model.reader_bert`.

  Attributes:
    optimizer: The release says nothing; BERT's own values for CoNLL-2003.
    batch_size: Sentences of a step.
    max_tokens: Longest sentence in training, [CLS] and [SEP] included; words
      beyond have no label.
    tag_batch_size: Sentences tagged at once.
    checkpoint_every_steps: Steps between two checkpoints.
    log_every_steps: Steps between two lines of the log.
  """

  optimizer: OptimizerConfig = OptimizerConfig(5e-5, 1500)
  batch_size: int = fields.positive(32)
  max_tokens: int = fields.above(2, 128)
  tag_batch_size: int = fields.positive(256)
  checkpoint_every_steps: int = fields.positive(500)
  log_every_steps: int = fields.positive(100)
