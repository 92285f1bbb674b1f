"""Configures the jobs that train: models, retrievers, readers and taggers."""

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
      each shape of a batch; steps in bfloat16 or of wide encoders are not
      compiled as a whole there.
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


@dataclasses.dataclass(frozen=True)
class FinetuningConfig(JobConfig):
  """Open-domain QA by span extraction (Section 3.2, ORQA).

  ORQA's own settings, which train too little, are in launch/orqa_faithful.py.

  Attributes:
    optimizer: The paper trains at 1e-5, one question per step.
    bucket_batches: Batches whose questions are sorted together by the length of
      their gold blocks, if known (`gold_id`), for less padding. 1 sorts none.
    num_searched: Blocks of the early-update loss (the release: 5000).
    num_read: K, blocks that are read.
    objective: 'marginal', over all occurrences of an answer (Section 3.2);
      'hard_em', the likeliest span and block only (Min et al. 2019); or
      'per_block', in each block alone, whose null span is right where it lacks
      the answer (SQuAD 2.0): retrieval does not learn.
    supervision: 'answer': all blocks with an answer's text are right. 'gold':
      if a question names its article (`gold_id`), only its blocks with the
      answer are right. A right block is then always read, found or not. Other
      blocks with the answer's text count neither as right nor as wrong.
    read_titles: Whether the reader sees [CLS] question [SEP] title [SEP] body
      [SEP], instead of ORQA's [CLS] question [SEP] body [SEP].
    read_answer_block: Whether training always reads a block with the answer. If
      the first K lack it, the best other block that has it replaces the last.
      ORQA's reader learns nothing from such questions.
    null_spans: Whether the reader also scores a null span in each block: no
      block read has the answer, as in SQuAD 2.0. Questions with `is_impossible`
      train it; otherwise they are left out. The paper has none.
    sentence_share: Share of the questions that are made of sentences of
      --queries_dir, next to --questions. Words that only these have are kept.
    freeze_query_tower: Whether Embed_input is not trained.
    judge_every_steps: Steps between measurements of exact match on
      --dev_questions. The best parameters are kept.
    joint_tokens: Length of [CLS] question [SEP] body [SEP].
    eval_batch_size: Questions answered at once.
    answer_by: 'span' answers the likeliest span, as ORQA; 'text' sums the
      probabilities of spans with the same text.
    jit_compile: As in `PretrainingConfig`.
  """

  optimizer: OptimizerConfig = OptimizerConfig(3e-5, 25_000)
  batch_size: int = fields.positive(16)
  bucket_batches: int = fields.positive(1)
  num_searched: int = 5000
  num_read: int = fields.positive(5)
  objective: str = fields.one_of('marginal', 'hard_em', 'per_block')
  supervision: str = fields.one_of('gold', 'answer')
  read_titles: bool = False
  read_answer_block: bool = True
  null_spans: bool = False
  sentence_share: float = fields.below_one(0.2)
  freeze_query_tower: bool = False
  judge_every_steps: int = fields.positive(1000)
  joint_tokens: int = 320
  eval_batch_size: int = fields.positive(32)
  answer_by: str = fields.one_of('span', 'text')
  jit_compile: bool = True

  def check_together(self) -> None:
    fields.check(
      self.objective != 'per_block' or self.null_spans,
      "`null_spans` must be true with the objective 'per_block'.",
      null_spans=self.null_spans,
    )
    fields.check(
      self.num_read <= self.num_searched,
      '`num_read` must be in [1, num_searched].',
      num_read=self.num_read,
      num_searched=self.num_searched,
    )


@dataclasses.dataclass(frozen=True)
class PathConfig(JobConfig):
  """Training of retrieval along links (Asai et al. 2020)."""

  # Updates Embed_input and the scorer of paths.
  optimizer: OptimizerConfig = OptimizerConfig(1e-4, 3000)


@dataclasses.dataclass(frozen=True)
class ClosedBookConfig(JobConfig):
  """Training of the encoder-decoder `model.seq2seq` (Roberts et al. 2020)."""

  # AdamW instead of T5's Adafactor.
  optimizer: OptimizerConfig = OptimizerConfig(1e-3, 100_000)
  batch_size: int = fields.positive(128)
  # Wordpieces kept of a masked sentence or a question.
  input_tokens: int = fields.positive(96)
  # Longest span or answer, with its end token.
  answer_tokens: int = fields.above(1, 16)
