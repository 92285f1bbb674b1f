"""Configures the jobs that learn from questions."""

import dataclasses

from realm_tf.config import fields
from realm_tf.config.training import JobConfig
from realm_tf.config.training import OptimizerConfig


@dataclasses.dataclass(frozen=True)
class FinetuningConfig(JobConfig):
  """Open-domain QA by span extraction (Section 3.2, ORQA).

  ORQA's own choices, which train too little, are launch/orqa_faithful.py.

  Attributes:
    optimizer: The paper trains at 1e-5, one question a step.
    bucket_batches: Batches whose questions are sorted by the length of the
      blocks that teach them, where those are known beforehand (`gold_id`):
      less of each batch is padding. 1 sorts none.
    num_searched: Blocks of the early-update loss (the release: 5000).
    num_read: K, blocks that are read.
    objective: 'marginal', over all occurrences of an answer (Section 3.2), or
      'hard_em', the likeliest span and block only (Min et al. 2019).
    supervision: Which blocks teach: 'answer', those with an answer's text; or
      'gold', of questions that name their article (`gold_id`), those with the
      answer in that article. It is always read, found or not; other blocks
      with the answer's text are then neither right nor wrong.
    read_titles: Whether the reader sees [CLS] question [SEP] title [SEP] body
      [SEP] and not, as ORQA's, [CLS] question [SEP] body [SEP].
    read_answer_block: Whether training always reads a block that has the
      answer: where the first K lack it, the best other block that has it takes
      the last place. ORQA's reader learns nothing from such questions.
    freeze_query_tower: Whether Embed_input stays as it was pre-trained.
    freeze_block_tower: Whether Embed_doc does (Section 3.3). If not, each step
      embeds the blocks that it reads and learns from them; the others are
      scored by the index, which is built again at the end.
    refresh_every_steps: Steps between two rebuilds of the index; 0 builds it
      only at the end.
    judge_every_steps: Steps between two measurements of exact match on
      --dev_questions; the parameters that score best are kept.
    patience: Measurements in a row without a better one, after which training
      stops; 0 is never.
    joint_tokens: [CLS] question [SEP] body [SEP].
    eval_batch_size: Questions answered at once.
    answer_by: What is answered: the best 'span', as in ORQA, or the best
      'text', with the probabilities of all its spans summed.
    jit_compile: Whether XLA compiles the step; see `PretrainingConfig`.
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
      'An index only changes with Embed_doc: `refresh_every_steps` needs '
      '`freeze_block_tower=false`.',
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
  """Training of retrieval along links (Asai et al. 2020).

  Attributes:
    optimizer: Updates Embed_input and the scorer of paths.
  """

  optimizer: OptimizerConfig = OptimizerConfig(1e-4, 3000)


@dataclasses.dataclass(frozen=True)
class ClosedBookConfig(JobConfig):
  """Training of the encoder-decoder (Roberts et al. 2020).

  Its networks' sizes are those of `model.seq2seq`.

  Attributes:
    optimizer: AdamW instead of T5's Adafactor.
    input_tokens: Wordpieces kept of a sentence with its mask, or of a question.
    answer_tokens: Longest span or answer, with its end.
  """

  optimizer: OptimizerConfig = OptimizerConfig(1e-3, 100_000)
  batch_size: int = fields.positive(128)
  input_tokens: int = fields.positive(96)
  answer_tokens: int = fields.above(1, 16)
