"""Configures the training of models, retrievers and taggers."""

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
    embedder_rate_scale: The embedders' learning rate over `learning_rate`; 0
      leaves them unchanged.
    max_skipped_steps: Training ends after so many steps in a row whose loss or
      gradient is not finite; each of them is left out. 0 never ends it.
  """

  learning_rate: float = fields.positive(3e-5)
  num_steps: int = fields.positive(200_000)
  warmup_steps: int = 0
  weight_decay_rate: float = 0.01
  embedder_rate_scale: float = fields.not_negative(1.0)
  max_skipped_steps: int = fields.not_negative(10)

  @property
  def resolved_warmup_steps(self) -> int:
    default = min(10_000, max(100, self.num_steps // 10))
    return min(self.warmup_steps or default, max(1, self.num_steps // 2))


@dataclasses.dataclass(frozen=True)
class JobConfig(fields.Config):
  """What most training jobs have in common.

  Attributes:
    batch_size: Examples of a step.
    checkpoint_every_steps: Steps between two checkpoints for --resume.
    log_every_steps: Steps between two lines of the log.
  """

  optimizer: OptimizerConfig = OptimizerConfig()
  batch_size: int = fields.positive(32)
  checkpoint_every_steps: int = fields.positive(500)
  log_every_steps: int = fields.positive(100)


@dataclasses.dataclass(frozen=True)
class InverseClozeConfig(fields.Config):
  """Warm start by ICT (Lee et al. 2019, Section 4), or on questions.

  Attributes:
    optimizer: The paper trains 100k steps at 1e-4.
    batch_size: Queries of a step; the other blocks are the negatives.
    chunk_size: Examples that a replica embeds at once: activations need the
      memory of a chunk, for about a third more arithmetic. 0 embeds a replica's
      whole part of the batch at once.
    query_tokens: [CLS] sentence [SEP].
    remove_rate: How often the sentence is cut out of its block.
    query_noise_rate: Share of the query's wordpieces replaced at random: words
      that statements lack (who, which) then do no harm later.
    query_drop_rate: Share of the query's wordpieces left out: a question has
      few of its block's words.
    questions_of_title: Questions on blocks of one title that share a batch, as
      hard negatives of each other. Where the batch size is no multiple, their
      largest common divisor.
    bucket_batches: See `FinetuningConfig`.
    jit_compile: Whether XLA compiles the step; see `PretrainingConfig`.
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

  @property
  def log_every_steps(self) -> int:
    """Steps between two lines of the log: 20 lines in a run."""
    return max(1, self.optimizer.num_steps // 20)

  def check_together(self) -> None:
    fields.check(
      not self.chunk_size or self.batch_size % self.chunk_size == 0,
      '`batch_size` must be a multiple of `chunk_size`, or that 0.',
      batch_size=self.batch_size,
      chunk_size=self.chunk_size,
    )


@dataclasses.dataclass(frozen=True)
class PretrainingConfig(JobConfig):
  """REALM pre-training (Section 4.3).

  Attributes:
    optimizer: The paper trains 200k steps at 3e-5.
    num_candidates: K, the null block included. 1 is masked language modelling
      without blocks, as BERT's: it needs no index.
    objective: 'per_query' is the paper's log-likelihood; 'per_token' the
      release's.
    masking: Which words are masked (Table 2).
    candidates: 'retrieved', from the index; 'hybrid', from the index and BM25
      by turns; 'recurring_span', from BM25, blocks with the masked span first,
      under a uniform p(z|x): this warms up the reader from text alone and needs
      no index.
    oversampling: Queries drawn for each one used. Those with a candidate that
      has the masked span are used first: in a small corpus few have.
    refresh_every_steps: Steps between two parameter versions (Section 3.3);
      Table 2 of the paper has 30 times as many.
    over_retrieval: Blocks searched for each query, to be ranked again with the
      current parameters; 0 takes the index's own ranking.
    pin_index: Makes a step's index a function of the step: that of the
      parameters from before the current refresh period. Training waits for it,
      and every run of a seed is the same, also across a crash. Otherwise the
      newest index is used.
    inverse_cloze_weight: Weight of ICT on the candidates beside the loss: a
      sentence of each, changed as `inverse_cloze` says, must find it among all
      of the step. 0 is the paper's loss.
    jit_compile: Whether XLA compiles the step of a single device. It halves a
      step's time on CPU, after half a minute of compilation for each shape of a
      batch. A CPU's step in bfloat16 (`model.train_dtype`) is never compiled.
  """

  optimizer: OptimizerConfig = OptimizerConfig(3e-5, 200_000)
  batch_size: int = fields.positive(512)
  num_candidates: int = fields.positive(8)
  objective: str = fields.one_of('per_query', 'per_token')
  masking: str = fields.one_of('salient', 'random_span', 'random_token')
  candidates: str = fields.one_of('retrieved', 'hybrid', 'recurring_span')
  oversampling: int = fields.positive(1)
  refresh_every_steps: int = fields.positive(500)
  over_retrieval: int = fields.not_negative(0)
  pin_index: bool = False
  inverse_cloze_weight: float = fields.not_negative(0.0)
  jit_compile: bool = True

  def check_together(self) -> None:
    fields.check(
      not self.inverse_cloze_weight
      or (self.candidates != 'recurring_span' and self.num_candidates > 1),
      '`inverse_cloze_weight` needs candidates that are embedded: retrieved or '
      'hybrid ones beside the null block.',
      candidates=self.candidates,
      num_candidates=self.num_candidates,
    )
    fields.check(
      not self.pin_index
      or self.checkpoint_every_steps <= self.refresh_every_steps,
      '`pin_index` needs a checkpoint at least as often as a refresh: older '
      'indexes are removed.',
      checkpoint_every_steps=self.checkpoint_every_steps,
      refresh_every_steps=self.refresh_every_steps,
    )
    fields.check(
      not (self.pin_index and self.over_retrieval),
      '`pin_index` needs candidates that depend on the index alone, so no '
      '`over_retrieval`.',
      over_retrieval=self.over_retrieval,
    )


@dataclasses.dataclass(frozen=True)
class TaggerConfig(JobConfig):
  """A BERT that labels words (Section 3.4 uses one for named entities).

  Its networks' sizes are those of `model.reader_bert`.

  Attributes:
    optimizer: The release says nothing; BERT's own values for CoNLL-2003.
    max_tokens: Longest sentence in training, [CLS] and [SEP] included; words
      beyond have no label.
  """

  optimizer: OptimizerConfig = OptimizerConfig(5e-5, 1500)
  max_tokens: int = fields.above(2, 128)
