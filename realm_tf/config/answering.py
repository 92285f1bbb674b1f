"""Configures the jobs that learn from questions."""

import dataclasses

from realm_tf.config import fields
from realm_tf.config.training import JobConfig
from realm_tf.config.training import OptimizerConfig


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
    objective: 'marginal', over all occurrences of an answer (Section 3.2), or
      'hard_em', the likeliest span and block only (Min et al. 2019).
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
    sentence_share: Share of the questions that are sentences of --queries_dir
      with a blank, next to --questions. Words that only these have are kept.
    freeze_query_tower: Whether Embed_input is not trained.
    freeze_block_tower: Whether Embed_doc is not trained (Section 3.3). If it
      is, each step embeds the blocks that it reads. The index, which is built
      again at the end, scores the other blocks.
    refresh_every_steps: Steps between rebuilds of the index; 0 builds it only
      at the end.
    judge_every_steps: Steps between measurements of exact match on
      --dev_questions. The best parameters are kept.
    patience: Successive measurements without improvement that end training; 0
      never ends it.
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
  objective: str = fields.one_of('marginal', 'hard_em')
  supervision: str = fields.one_of('gold', 'answer')
  read_titles: bool = False
  read_answer_block: bool = True
  null_spans: bool = False
  sentence_share: float = fields.below_one(0.2)
  freeze_query_tower: bool = False
  freeze_block_tower: bool = True
  refresh_every_steps: int = fields.not_negative(0)
  judge_every_steps: int = fields.positive(1000)
  patience: int = fields.not_negative(0)
  joint_tokens: int = 320
  eval_batch_size: int = fields.positive(32)
  answer_by: str = fields.one_of('span', 'text')
  jit_compile: bool = True

  def check_together(self) -> None:
    fields.check(
      not (self.refresh_every_steps and self.freeze_block_tower),
      '`refresh_every_steps` must be 0 with `freeze_block_tower`: the index '
      'changes only with Embed_doc.',
      refresh_every_steps=self.refresh_every_steps,
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
