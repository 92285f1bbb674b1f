"""Configures the training of models, retrievers and taggers."""

import dataclasses

from realm_tf.config import fields


@dataclasses.dataclass(frozen=True)
class OptimizerConfig(fields.Config):
  """BERT's AdamW with linear warm-up and linear decay to zero."""

  learning_rate: float = fields.positive(3e-5)  # Peak, after the warm-up.
  num_steps: int = fields.positive(200_000)
  # At most half the steps. 0 means min(10000, max(100, num_steps / 10)).
  warmup_steps: int = 0
  # The embedders' learning rate over `learning_rate`; 0 freezes them.
  embedder_rate_scale: float = fields.not_negative(1.0)

  @property
  def resolved_warmup_steps(self) -> int:
    default = min(10_000, max(100, self.num_steps // 10))
    return min(self.warmup_steps or default, max(1, self.num_steps // 2))


@dataclasses.dataclass(frozen=True)
class JobConfig(fields.Config):
  """Fields that most training jobs share."""

  optimizer: OptimizerConfig = OptimizerConfig()
  batch_size: int = fields.positive(32)
  checkpoint_every_steps: int = fields.positive(500)  # For --resume.
  log_every_steps: int = fields.positive(100)


@dataclasses.dataclass(frozen=True)
class InverseClozeConfig(fields.Config):
  """Warm start by ICT (Lee et al. 2019, Section 4), or on questions.

  Attributes:
    optimizer: The paper trains 100k steps at 1e-4.
    batch_size: Queries per step; blocks of other queries are the negatives.
    chunk_size: Examples that a replica embeds at once. Activations need the
      memory of one chunk, for about a third more arithmetic. 0 embeds all at
      once.
    query_tokens: Length of [CLS] sentence [SEP].
    remove_rate: Probability that the sentence is cut out of its block.
    query_noise_rate: Share of the query's wordpieces replaced at random, so
      that question words, which statements lack, do no harm later.
    query_drop_rate: Share of the query's wordpieces dropped, since a question
      has few of its block's words.
    questions_of_title: Questions on blocks of one title that share a batch, as
      hard negatives of each other. If the batch size is no multiple, the
      largest common divisor is used.
    bucket_batches: As in `FinetuningConfig`.
    jit_compile: As in `PretrainingConfig`.
    checkpoint_every_steps: As in `JobConfig`.
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

  @property
  def log_every_steps(self) -> int:
    """Steps between lines of the log, for 20 lines in a run."""
    return max(1, self.optimizer.num_steps // 20)

  def check_together(self) -> None:
    fields.check(
      not self.chunk_size or self.batch_size % self.chunk_size == 0,
      '`batch_size` must be a multiple of `chunk_size`, unless that is 0.',
      batch_size=self.batch_size,
      chunk_size=self.chunk_size,
    )


@dataclasses.dataclass(frozen=True)
class PretrainingConfig(JobConfig):
  """REALM pre-training (Section 4.3).

  Attributes:
    optimizer: The paper trains 200k steps at 3e-5.
    num_candidates: K, the null block included. 1 is BERT's masked language
      modelling, without blocks and index.
    objective: 'per_query' is the paper's log-likelihood; 'per_token' is the
      release's.
    masking: Kind of words to mask (Table 2).
    candidates: 'retrieved', from the index; 'hybrid', alternately from the
      index and BM25; 'recurring_span', from BM25, blocks with the masked span
      first, with uniform p(z|x). The last warms up the reader without an index.
    oversampling: Queries drawn for each one used. Queries with the masked span
      in a candidate are used first; they are rare in a small corpus.
    refresh_every_steps: Steps between two parameter versions (Section 3.3).
      Table 2 of the paper has indexes 30 times as old.
    pin_index: Whether each step uses the index built one refresh period
      earlier. Training waits for it, and runs of one seed are identical, even
      across a crash. Otherwise the newest index is used.
    inverse_cloze_weight: Weight of an additional ICT loss: a sentence of each
      candidate, changed as in `inverse_cloze`, must find its block among all
      candidates of the step. 0 is the paper's loss.
    jit_compile: Whether XLA compiles the step of a single device. On a CPU,
      compiled steps take half the time, after half a minute of compilation for
      each shape of a batch; steps in bfloat16 are never compiled there.
  """

  optimizer: OptimizerConfig = OptimizerConfig(3e-5, 200_000)
  batch_size: int = fields.positive(512)
  num_candidates: int = fields.positive(8)
  objective: str = fields.one_of('per_query', 'per_token')
  masking: str = fields.one_of('salient', 'random_span', 'random_token')
  candidates: str = fields.one_of('retrieved', 'hybrid', 'recurring_span')
  oversampling: int = fields.positive(1)
  refresh_every_steps: int = fields.positive(500)
  pin_index: bool = False
  inverse_cloze_weight: float = fields.not_negative(0.0)
  jit_compile: bool = True

  def check_together(self) -> None:
    fields.check(
      not self.inverse_cloze_weight
      or (self.candidates != 'recurring_span' and self.num_candidates > 1),
      '`inverse_cloze_weight` must be 0 without embedded candidates: retrieved '
      'or hybrid ones, and more than the null block.',
      candidates=self.candidates,
      num_candidates=self.num_candidates,
    )
    fields.check(
      not self.pin_index
      or self.checkpoint_every_steps <= self.refresh_every_steps,
      '`pin_index` must have a checkpoint at least as often as a refresh: '
      'older indexes are removed.',
      checkpoint_every_steps=self.checkpoint_every_steps,
      refresh_every_steps=self.refresh_every_steps,
    )


@dataclasses.dataclass(frozen=True)
class TaggerConfig(JobConfig):
  """A BERT that labels words, as Section 3.4 does for named entities.

  The BERT is `model.reader_bert`.
  """

  # BERT's values for CoNLL-2003; REALM's release has none.
  optimizer: OptimizerConfig = OptimizerConfig(5e-5, 1500)
  # Longest training sentence, with [CLS] and [SEP]; the rest has no labels.
  max_tokens: int = fields.above(2, 128)
