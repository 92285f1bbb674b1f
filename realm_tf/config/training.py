"""The warm start, pre-training and the tagger: a section for each."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class OptimizerConfig(fields.Checked):
  """BERT's AdamW with linear warm-up and linear decay to zero.

  Attributes:
    learning_rate: Rate at the end of the warm-up.
    num_steps: Updates in all.
    warmup_steps: Steps of the linear warm-up, at most half of all; 0 means
      min(10000, max(100, num_steps / 10)).
    weight_decay_rate: Decoupled weight decay; LayerNorm and biases have none.
    gradient_clip_norm: Bound on the global norm.
    embedder_rate_scale: The embedders' learning rate over `learning_rate`.
    max_skipped_steps: Steps in a row, of a loss or gradient that is not finite,
      after which training ends; each is skipped. 0 never ends it.
  """

  learning_rate: float = fields.positive(3e-5)
  num_steps: int = fields.positive(200_000)
  warmup_steps: int = 0
  weight_decay_rate: float = 0.01
  gradient_clip_norm: float = 1.0
  embedder_rate_scale: float = fields.positive(1.0)
  max_skipped_steps: int = fields.not_negative(10)

  @property
  def resolved_warmup_steps(self) -> int:
    default = min(10_000, max(100, self.num_steps // 10))
    return min(self.warmup_steps or default, max(1, self.num_steps // 2))


@dataclasses.dataclass(frozen=True)
class InverseClozeConfig(fields.Checked):
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
  batch_size: int = fields.positive(4096)
  chunk_size: int = fields.not_negative(0)
  query_tokens: int = fields.above(2, 64)
  remove_rate: float = fields.rate(0.9)
  query_noise_rate: float = fields.rate(0.0)
  query_drop_rate: float = fields.rate(0.0)
  questions_of_title: int = fields.positive(8)
  bucket_batches: int = fields.positive(1)
  jit_compile: bool = True
  checkpoint_every_steps: int = fields.positive(500)

  def check_together(self):
    fields.check(
      not self.chunk_size or self.batch_size % self.chunk_size == 0,
      '`batch_size` must be a multiple of `chunk_size`, or that 0.',
      batch_size=self.batch_size,
      chunk_size=self.chunk_size,
    )


@dataclasses.dataclass(frozen=True)
class PretrainingConfig(fields.Checked):
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
  batch_size: int = fields.positive(512)
  num_candidates: int = fields.positive(8)
  objective: str = fields.one_of('per_query', 'per_token')
  masking: str = fields.one_of('salient', 'random_span', 'random_token')
  candidates: str = fields.one_of('retrieved', 'hybrid', 'recurring_span')
  oversampling: int = fields.positive(1)
  reader_only_steps: int = 0
  refresh_every_steps: int = fields.positive(500)
  stale_factor: int = fields.positive(1)
  over_retrieval: int = fields.not_negative(0)
  pin_index: bool = False
  write_through_blocks: int = fields.not_negative(0)
  query_noise_rate: float = fields.rate(0.0)
  mask_drop_rate: float = fields.rate(0.0)
  jit_compile: bool = True
  checkpoint_every_steps: int = fields.positive(500)
  log_every_steps: int = fields.positive(100)

  def check_together(self):
    every = self.refresh_every_steps * self.stale_factor
    fields.check(
      not self.pin_index or self.checkpoint_every_steps <= every,
      '`pin_index` needs a checkpoint at least as often as a refresh: older '
      'indexes are removed.',
      checkpoint_every_steps=self.checkpoint_every_steps,
      refresh_every_steps=every,
    )
    fields.check(
      not (
        self.pin_index and (self.over_retrieval or self.write_through_blocks)
      ),
      '`pin_index` needs candidates that depend on the index alone, so neither '
      '`over_retrieval` nor `write_through_blocks`.',
      over_retrieval=self.over_retrieval,
      write_through_blocks=self.write_through_blocks,
    )


@dataclasses.dataclass(frozen=True)
class TaggerConfig(fields.Checked):
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

  optimizer: OptimizerConfig = OptimizerConfig(5e-5, 1500)
  batch_size: int = fields.positive(32)
  max_tokens: int = fields.above(2, 128)
  tag_batch_size: int = fields.positive(256)
  checkpoint_every_steps: int = fields.positive(500)
  log_every_steps: int = fields.positive(100)
