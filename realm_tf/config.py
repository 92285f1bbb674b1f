"""Every hyperparameter of the project, as frozen, checked dataclasses.

A function takes the smallest config that it reads: the ScaNN builder takes an
`IndexConfig`, never an `ExperimentConfig`. Defaults are the paper's values
(Guu et al. 2020, Section 4 and Appendix). Parts are in files of their own, as
`model_config.py`; a launch module finds all of it here.
"""

import dataclasses

from realm_tf import config_checks
from realm_tf import finetuning_config
from realm_tf import held_out_config
from realm_tf import index_config
from realm_tf import model_config
from realm_tf import optimizer_config
from realm_tf import tagger_config

BertConfig = model_config.BertConfig
EmbedderConfig = model_config.EmbedderConfig
FinetuningConfig = finetuning_config.FinetuningConfig
HeldOutConfig = held_out_config.HeldOutConfig
ModelConfig = model_config.ModelConfig
IndexConfig = index_config.IndexConfig
OptimizerConfig = optimizer_config.OptimizerConfig
TaggerConfig = tagger_config.TaggerConfig


@dataclasses.dataclass(frozen=True)
class LengthConfig:
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
  question_tokens: int = 30
  title_tokens: int = 32
  max_masked: int = 10
  cut_blocks: bool = False

  def __post_init__(self):
    config_checks.check_positive(
      self, 'question_tokens', 'title_tokens', 'max_masked'
    )
    config_checks.check(
      self.title_tokens + 3 < self.block_tokens,
      '`title_tokens` + 3 must be below `block_tokens`.',
      title_tokens=self.title_tokens,
      block_tokens=self.block_tokens,
    )
    config_checks.check(
      self.query_tokens + 1 < self.joint_tokens,
      '`query_tokens` + 1 must be below `joint_tokens`.',
      query_tokens=self.query_tokens,
      joint_tokens=self.joint_tokens,
    )


@dataclasses.dataclass(frozen=True)
class InverseClozeConfig:
  """The ICT warm start (Lee et al. 2019, Section 4), or that on questions.

  Attributes:
    optimizer: The paper trains 100k steps at 1e-4.
    batch_size: Queries of a step; the other blocks are the negatives.
    chunk_size: Examples that a replica embeds at once: the batch's activations
      need no more memory than those of a chunk, for about a third more
      arithmetic. 0 embeds its whole part of the batch at once.
    query_tokens: [CLS] sentence [SEP].
    remove_rate: How often the sentence is cut out of its block.
    query_noise_rate: Share of the query's wordpieces replaced at random, so
      that words which statements lack (who, which) do no harm later.
    query_drop_rate: Share of the query's wordpieces left out, so that a query
      is no copy of a sentence: a question has few of its block's words.
    questions_of_title: How many questions on blocks of one title are dealt
      together, hard negatives of each other; their largest common divisor if
      the batch size is no multiple.
    bucket_batches: Batches whose questions are dealt by the length of their
      blocks; see `FinetuningConfig`.
    jit_compile: Whether XLA compiles the step of a single device; see
      `PretrainingConfig`.
    checkpoint_every_steps: Steps between two checkpoints for --resume.
  """

  optimizer: OptimizerConfig = OptimizerConfig(1e-4, 100_000)
  batch_size: int = 4096
  chunk_size: int = 0
  query_tokens: int = 64
  remove_rate: float = 0.9
  query_noise_rate: float = 0.0
  query_drop_rate: float = 0.0
  questions_of_title: int = 8
  bucket_batches: int = 1
  jit_compile: bool = True
  checkpoint_every_steps: int = 500

  def __post_init__(self):
    config_checks.check_positive(
      self,
      'batch_size',
      'questions_of_title',
      'bucket_batches',
      'checkpoint_every_steps',
    )
    config_checks.check_rates(
      self, 'remove_rate', 'query_noise_rate', 'query_drop_rate'
    )
    config_checks.check(
      self.chunk_size >= 0
      and (not self.chunk_size or self.batch_size % self.chunk_size == 0),
      '`batch_size` must be a multiple of `chunk_size`, or that 0.',
      batch_size=self.batch_size,
      chunk_size=self.chunk_size,
    )
    config_checks.check(
      self.query_tokens > 2,
      '`query_tokens` must be above 2.',
      query_tokens=self.query_tokens,
    )


@dataclasses.dataclass(frozen=True)
class PretrainingConfig:
  """REALM pre-training (Section 4.3).

  Attributes:
    optimizer: The paper trains 200k steps at 3e-5.
    batch_size: B.
    num_candidates: K, the null block included. 1 is masked language modelling
      without blocks, as BERT's: it needs no index.
    objective: 'per_query' is the paper's log-likelihood; 'per_token' the
      release's.
    masking: 'salient', 'random_span' or 'random_token' (Table 2).
    candidates: 'retrieved'; or 'hybrid': what the index and BM25 find, by
      turns; or 'recurring_span': of the blocks that BM25 finds those with the
      masked span first, under a uniform p(z|x); this warms up the reader from
      text alone and needs no index.
    oversampling: Queries that are dealt for each one used. Used first are those
      with a candidate that has the masked span: in a small corpus few have.
    reader_only_steps: Steps at the start in which the retriever stays as it
      is, for a reader that has yet to learn what blocks are good for.
    refresh_every_steps: Steps between two parameter versions (Section 3.3).
    stale_factor: Makes the index this many times staler: parameters are
      published for it every `refresh_every_steps` * `stale_factor` steps
      (Table 2 of the paper: 30).
    over_retrieval: Blocks that are searched for each query, to be ranked again
      with the current parameters; 0 takes the index's own ranking.
    pin_index: Whether a step's index is a function of the step: that of the
      parameters from before the current refresh period, waited for where it
      takes longer. So every run of a seed is the same, also across a crash;
      otherwise it is the newest there is.
    write_through_blocks: Blocks whose embeddings, fresh from the step, stand in
      for those of the index until the next one; 0 is off.
    query_noise_rate: Share of the wordpieces replaced at random in the query
      that p(z|x) is computed from; what finds the candidates and what the
      reader sees stays as it is.
    mask_drop_rate: Share of the queries that p(z|x) is computed from without
      their [MASK]s: a question, which the retriever must know later, has none.
    jit_compile: Whether XLA compiles the step of a single device. It takes
      half as long on CPU then, but each shape of a batch is compiled first, for
      half a minute. With `model.train_dtype` bfloat16 a CPU's is not.
    checkpoint_every_steps: Steps between two checkpoints for --resume.
    log_every_steps: Steps between two lines of the log.
  """

  optimizer: OptimizerConfig = OptimizerConfig(3e-5, 200_000)
  batch_size: int = 512
  num_candidates: int = 8
  objective: str = 'per_query'
  masking: str = 'salient'
  candidates: str = 'retrieved'
  oversampling: int = 1
  reader_only_steps: int = 0
  refresh_every_steps: int = 500
  stale_factor: int = 1
  over_retrieval: int = 0
  pin_index: bool = False
  write_through_blocks: int = 0
  query_noise_rate: float = 0.0
  mask_drop_rate: float = 0.0
  jit_compile: bool = True
  checkpoint_every_steps: int = 500
  log_every_steps: int = 100

  def __post_init__(self):
    config_checks.check_positive(
      self,
      'batch_size',
      'num_candidates',
      'oversampling',
      'refresh_every_steps',
      'stale_factor',
      'checkpoint_every_steps',
      'log_every_steps',
    )
    config_checks.check_rates(self, 'query_noise_rate', 'mask_drop_rate')
    config_checks.check_not_negative(
      self, 'over_retrieval', 'write_through_blocks'
    )
    every = self.refresh_every_steps * self.stale_factor
    config_checks.check(
      not self.pin_index or self.checkpoint_every_steps <= every,
      '`pin_index` needs a checkpoint at least as often as a refresh: older '
      'indexes are removed.',
      checkpoint_every_steps=self.checkpoint_every_steps,
      refresh_every_steps=every,
    )
    config_checks.check(
      not (
        self.pin_index and (self.over_retrieval or self.write_through_blocks)
      ),
      '`pin_index` needs candidates that depend on the index alone, so neither '
      '`over_retrieval` nor `write_through_blocks`.',
      over_retrieval=self.over_retrieval,
      write_through_blocks=self.write_through_blocks,
    )
    config_checks.check(
      self.objective in ('per_query', 'per_token'),
      "`objective` must be 'per_query' or 'per_token'.",
      objective=self.objective,
    )
    config_checks.check(
      self.masking in ('salient', 'random_span', 'random_token'),
      "`masking` must be 'salient', 'random_span' or 'random_token'.",
      masking=self.masking,
    )
    config_checks.check(
      self.candidates in ('retrieved', 'hybrid', 'recurring_span'),
      "`candidates` must be 'retrieved', 'hybrid' or 'recurring_span'.",
      candidates=self.candidates,
    )


@dataclasses.dataclass(frozen=True)
class WorldConfig:
  """The embedded default corpus, written from geographical facts.

  Attributes:
    seed: Of every choice.
    num_cities: Cities with an article; the largest ones, at most
      `max_cities_per_country` of a country.
    max_cities_per_country: See `num_cities`.
    facts_per_article: Of the dozen that are known about an entity.
    num_train_questions: Upper bounds of the three splits.
    num_dev_questions: See above.
    num_test_questions: See above; about entities no other split asks about.
  """

  seed: int = 0
  num_cities: int = 2500
  max_cities_per_country: int = 60
  facts_per_article: int = 6
  num_train_questions: int = 12_000
  num_dev_questions: int = 500
  num_test_questions: int = 1000


@dataclasses.dataclass(frozen=True)
class ExperimentConfig:
  """Everything a launch module configures."""

  seed: int = 0
  model: ModelConfig = ModelConfig()
  lengths: LengthConfig = LengthConfig()
  index: IndexConfig = IndexConfig()
  inverse_cloze: InverseClozeConfig = InverseClozeConfig()
  pretraining: PretrainingConfig = PretrainingConfig()
  finetuning: FinetuningConfig = FinetuningConfig()
  tagger: TaggerConfig = TaggerConfig()
  world: WorldConfig = WorldConfig()
  held_out: HeldOutConfig = HeldOutConfig()
