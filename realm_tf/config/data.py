"""Lengths of sequences, held-out sentences and the default corpus."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class LengthConfig(fields.Checked):
  """Sequence lengths in wordpieces, specials included (Section 4).

  Attributes:
    query_tokens: [CLS] x [SEP], for embedding.
    block_tokens: [CLS] title [SEP] body [SEP], for embedding.
    joint_tokens: [CLS] x [SEP] body [SEP], for reading.
    question_tokens: Wordpieces of a question that are kept.
    title_tokens: Wordpieces of a title that are kept.
    max_masked: M, masked wordpieces of a query that are predicted.
    cut_blocks: Whether blocks of a corpus that are longer than `block_tokens`,
      or than a joint length has room for beside the longest query, are cut,
      with a warning; otherwise such a corpus is refused.
  """

  query_tokens: int = 96
  block_tokens: int = 288
  joint_tokens: int = 384
  question_tokens: int = fields.positive(30)
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
class HeldOutConfig(fields.Checked):
  """Sentences that pre-training and ICT are measured on, and never train on.

  Attributes:
    share: Share of the articles whose sentences are held out; their blocks stay
      in the corpus. 0 holds out none, as in the paper.
    num_queries: Sentences that are measured, or fewer if there are fewer.
  """

  share: float = fields.share_below_one(0.0)
  num_queries: int = fields.positive(256)


@dataclasses.dataclass(frozen=True)
class WorldConfig(fields.Checked):
  """The embedded default corpus, written from geographical facts.

  Attributes:
    seed: Random seed.
    num_cities: Cities with an article; the largest ones, at most
      `max_cities_per_country` of a country.
    max_cities_per_country: Most cities of one country.
    facts_per_article: Facts that an article states, of about a dozen.
    num_train_questions: Upper bound of the training questions.
    num_dev_questions: Upper bound of the development questions.
    num_test_questions: Upper bound of the test questions, which are about
      entities that no other split asks about.
  """

  seed: int = 0
  num_cities: int = fields.positive(2500)
  max_cities_per_country: int = fields.positive(60)
  facts_per_article: int = fields.positive(6)
  num_train_questions: int = 12_000
  num_dev_questions: int = 500
  num_test_questions: int = 1000
