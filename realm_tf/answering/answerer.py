"""A question -> ranked answers, each cut from the text of its block.

  question -> wordpieces -> K blocks -> span scores -> characters of a block

The reader knows wordpieces only. Answers are cut from the block's own text by
character offsets: joined wordpieces would answer "u . s ." for "U.S.".
"""

from collections.abc import Callable, Sequence
import dataclasses
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import spans as spans_lib
from realm_tf.text import wordpiece

# Scores below it belong to spans that do not exist (`modeling.span_reader`).
_NO_SPAN = -1e8
_BODY_WIDTH = 32  # Bodies are trimmed to a multiple: few shapes, less padding.
# (question_ids int32 [B, Lx], body_ids int32 [B, K, Lz], retrieval_scores
# float32 [B, K]) -> scores of spans by the body's wordpiece that they start at
# and width - 1, float32 [B, K, Lz, W], retrieval scores included.
Reader = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Evidence(NamedTuple):
  """The best span of one block.

  Attributes:
    block_id: Row number in the corpus.
    title: Of the block.
    text: Of the block.
    start: First character of the answer in `text`.
    end: Behind its last character.
    answer: text[start:end].
    retrieval_probability: p(z|x) among the blocks that were read.
    score: Of the span, the retrieval score included.
  """

  block_id: int
  title: str
  text: str
  start: int
  end: int
  answer: str
  retrieval_probability: float
  score: float


class Answer(NamedTuple):
  """What the model answers.

  Attributes:
    question: As asked.
    prediction: The best evidence's answer; '' if no block could be read.
    score: The best evidence's score; None if there is none.
    evidence: At most one per block, best score first.
  """

  question: str
  prediction: str
  score: Optional[float]
  evidence: list[Evidence]

  def as_json(self) -> dict[str, Any]:
    """Returns the object that predictions.jsonl and --json show."""
    evidence = [item._asdict() for item in self.evidence]
    return {**self._asdict(), 'evidence': evidence}


@dataclasses.dataclass(frozen=True)
class Answerer:
  """Answers questions in batches.

  Attributes:
    tokenizer: With the corpus's vocabulary.
    table: The corpus.
    retriever: Finds blocks for a question.
    reader: Scores spans; compiled, so it wants few different shapes. None in a
      model without a span reader, which then only retrieves.
    lengths: Says how many wordpieces of a question count.
    finetuning: Says how many blocks are read and at which joint length, and
      how many questions go through the reader at once.
  """

  tokenizer: wordpiece.WordpieceTokenizer
  table: block_table.BlockTable
  retriever: retriever_lib.Retriever
  reader: Optional[Reader]
  lengths: config_lib.LengthConfig
  finetuning: config_lib.FinetuningConfig

  @property
  def num_read(self) -> int:
    """K, the blocks that are read for a question."""
    return min(self.finetuning.num_read, self.table.num_blocks)

  def answer(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[Answer]:
    """Retrieves and reads.

    Args:
      questions: Any number.
      top_k: Evidence kept per answer; by default, of every block read.

    Returns:
      One answer per question, in order.
    """
    return self.read(questions, self.retrieve(questions, self.num_read), top_k)

  def retrieve(
    self, questions: Sequence[str], k: int
  ) -> retriever_lib.Retrieved:
    """Returns the `k` best blocks of each question, [B, k]."""
    block_ids = np.full([len(questions), k], -1, np.int32)
    scores = np.full([len(questions), k], -np.inf, np.float32)
    for rows, question_ids in self._batches(questions):
      found = self.retriever.retrieve(question_ids, k)
      num_rows = rows.stop - rows.start
      block_ids[rows] = found.block_ids[:num_rows]
      scores[rows] = found.scores[:num_rows]
    return retriever_lib.Retrieved(block_ids, scores)

  def read(
    self,
    questions: Sequence[str],
    retrieved: retriever_lib.Retrieved,
    top_k: Optional[int] = None,
  ) -> list[Answer]:
    """Reads the first `num_read` retrieved blocks of each question."""
    answers = []
    for rows, question_ids in self._batches(questions):
      block_ids = retrieved.block_ids[rows, : self.num_read]
      scores = retrieved.scores[rows, : self.num_read]
      spans = self._best_spans(question_ids, block_ids, scores)
      answers += self._answers(
        questions[rows], block_ids, _softmax(scores), spans, top_k
      )
    return answers

  def _batches(self, questions: Sequence[str]):
    """Yields slices and their questions' wordpieces, int32 [P, Lx].

    P is a power of two or the full batch: the compiled reader sees few shapes,
    and one question does not cost as much as a batch.
    """
    full = self.finetuning.eval_batch_size
    for start in range(0, len(questions), full):
      rows = slice(start, min(start + full, len(questions)))
      num_rows = rows.stop - rows.start
      padded = min(full, 1 << (num_rows - 1).bit_length())
      ids = sampling.pad_rows(
        self.tokenizer.token_ids_batch(list(questions[rows])),
        self.lengths.question_tokens,
      )
      yield rows, np.pad(ids, [(0, padded - num_rows), (0, 0)])

  def _best_spans(
    self, question_ids: np.ndarray, block_ids: np.ndarray, scores: np.ndarray
  ) -> '_Spans':
    """Returns the best span of each block, each array [B, K]."""
    num_rows = len(block_ids)
    padding = [(0, len(question_ids) - num_rows), (0, 0)]
    # [CLS] question [SEP] body [SEP]: the packer cuts what does not fit.
    _, body_ids = self.table.gather(
      np.pad(block_ids, padding, constant_values=-1),
      1,
      self.finetuning.joint_tokens - 3,
    )
    body_ids = sampling.trim(body_ids, _BODY_WIDTH)
    span_scores = np.asarray(
      self.reader(question_ids, body_ids, np.pad(_finite(scores), padding))
    )[:num_rows]
    max_width = span_scores.shape[-1]
    flat = span_scores.reshape(*block_ids.shape, -1)  # [B, K, Lz * W]
    best = flat.argmax(axis=-1)
    first = best // max_width
    return _Spans(first, first + best % max_width + 1, flat.max(axis=-1))

  def _answers(
    self,
    questions: Sequence[str],
    block_ids: np.ndarray,
    probabilities: np.ndarray,
    spans: '_Spans',
    top_k: Optional[int],
  ) -> list[Answer]:
    readable = (block_ids >= 0) & (spans.scores > _NO_SPAN)
    ranked = np.argsort(-spans.scores, axis=-1, kind='stable')[:, :top_k]
    kept = [
      (row, column)
      for row, columns in enumerate(ranked)
      for column in columns
      if readable[row, column]
    ]
    ids = [int(block_ids[place]) for place in kept]
    texts = self.table.texts(ids)
    # The same wordpieces as the table's, but now with their offsets.
    all_tokens = self.tokenizer.tokenize_batch(texts)
    evidence = [[] for _ in questions]
    for place, block_id, title, text, tokens in zip(
      kept, ids, self.table.titles(ids), texts, all_tokens
    ):
      start, end = spans_lib.token_to_char_span(
        tokens, int(spans.firsts[place]), int(spans.ends[place])
      )
      evidence[place[0]].append(
        Evidence(
          block_id,
          title,
          text,
          start,
          end,
          text[start:end],
          float(probabilities[place]),
          float(spans.scores[place]),
        )
      )
    return [
      Answer(
        question,
        items[0].answer if items else '',
        items[0].score if items else None,
        items,
      )
      for question, items in zip(questions, evidence)
    ]


class _Spans(NamedTuple):
  """Spans of bodies: first wordpiece, behind the last one, score; [B, K]."""

  firsts: np.ndarray
  ends: np.ndarray
  scores: np.ndarray


def _finite(scores: np.ndarray) -> np.ndarray:
  """Keeps -inf, the score of no block, from becoming NaN in the reader."""
  return np.where(np.isfinite(scores), scores, 0.0).astype(np.float32)


def _softmax(scores: np.ndarray) -> np.ndarray:
  """Softmax over the last axis; 0 for a score of -inf, [B, K]."""
  if not np.size(scores):
    return scores
  largest = scores.max(axis=-1, keepdims=True)
  weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0.0))
  return weights / np.maximum(weights.sum(axis=-1, keepdims=True), 1e-30)
