"""Configures a whole experiment: lengths, data, and all other sections."""

import dataclasses

from realm_tf.config import fields
from realm_tf.config import index as index_lib
from realm_tf.config import model as model_lib
from realm_tf.config.answering import ClosedBookConfig
from realm_tf.config.answering import FinetuningConfig
from realm_tf.config.answering import PathConfig
from realm_tf.config.pretraining import InverseClozeConfig
from realm_tf.config.pretraining import PretrainingConfig
from realm_tf.config.tagger import TaggerConfig

_MOST_TOKENS = 65_536  # Memory grows with it before a question comes.


@dataclasses.dataclass(frozen=True)
class LengthConfig(fields.Config):
  """Sequence lengths in wordpieces, special tokens included (Section 4).

  Attributes:
    query_tokens: [CLS] x [SEP], for embedding.
    block_tokens: [CLS] title [SEP] body [SEP], for embedding.
    joint_tokens: [CLS] x [SEP] body [SEP], for reading.
    question_tokens: Wordpieces kept of a question.
    title_tokens: Wordpieces kept of a title.
    max_masked: M, masked wordpieces of a query that are predicted.
    cut_blocks: Cuts blocks that are too long to be embedded, or to be read
      beside the longest query, with a warning; otherwise their corpus is
      refused.
  """

  query_tokens: int = 96
  block_tokens: int = 288
  joint_tokens: int = 384
  question_tokens: int = fields.bounded(
    30, f'be in [1, {_MOST_TOKENS}]', lambda value: 1 <= value <= _MOST_TOKENS
  )
  title_tokens: int = fields.positive(32)
  max_masked: int = fields.positive(10)
  cut_blocks: bool = False

  def check_together(self):
    fields.check(
      self.title_tokens + 3 < self.block_tokens,
      '`title_tokens` + 3 must be below `block_tokens`.',
      title_tokens=self.title_tokens,
      block_tokens=self.block_tokens,
    )
    fields.check(
      self.query_tokens + 1 < self.joint_tokens,
      '`query_tokens` + 1 must be below `joint_tokens`.',
      query_tokens=self.query_tokens,
      joint_tokens=self.joint_tokens,
    )


@dataclasses.dataclass(frozen=True)
class WorldConfig(fields.Config):
  """The demonstration corpus, written from geographical facts.

  Attributes:
    seed: Random seed of the articles and the questions.
    num_cities: Cities with an article; the largest ones, at most
      `max_cities_per_country` of a country.
    facts_per_article: Facts stated of the dozen known about an entity.
    num_train_questions: Upper bounds of the three splits.
    num_test_questions: No other split asks about the entities of this one.
  """

  seed: int = 0
  num_cities: int = 2500
  max_cities_per_country: int = 60
  facts_per_article: int = 6
  num_train_questions: int = 12_000
  num_dev_questions: int = 500
  num_test_questions: int = 2000


@dataclasses.dataclass(frozen=True)
class HeldOutConfig(fields.Config):
  """Held-out sentences: they measure pre-training and ICT, and never train.

  Attributes:
    share: Share of the articles whose sentences are held out; their blocks
      stay in the corpus. 0 holds out none, as in the paper.
    num_queries: Most sentences that are measured.
  """

  share: float = fields.bounded(
    0.0, 'be in [0, 1)', lambda value: 0 <= value < 1
  )
  num_queries: int = fields.positive(256)


@dataclasses.dataclass(frozen=True)
class ExperimentConfig(fields.Config):
  """Everything a launch module configures."""

  seed: int = 0
  model: model_lib.ModelConfig = model_lib.ModelConfig()
  lengths: LengthConfig = LengthConfig()
  index: index_lib.IndexConfig = index_lib.IndexConfig()
  inverse_cloze: InverseClozeConfig = InverseClozeConfig()
  pretraining: PretrainingConfig = PretrainingConfig()
  finetuning: FinetuningConfig = FinetuningConfig()
  tagger: TaggerConfig = TaggerConfig()
  closed_book: ClosedBookConfig = ClosedBookConfig()
  path: PathConfig = PathConfig()
  world: WorldConfig = WorldConfig()
  held_out: HeldOutConfig = HeldOutConfig()
