"""A question -> ranked answers, each cut from the text of its block.

  question -> wordpieces -> K blocks -> span scores -> characters of a block

The reader knows wordpieces only. Answers are cut from the block's own text by
character offsets: joined wordpieces would answer "u . s ." for "U.S.".
"""

from collections.abc import Callable, Sequence
import dataclasses
import math
from typing import Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf.answering import answer as answer_lib
from realm_tf.answering import answer_choice
from realm_tf.answering import span_ranking
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.retrieval import hybrid as hybrid_lib
from realm_tf.retrieval import retrieval_layer
from realm_tf.text import wordpiece

# Blocks among which p(z|x) says how likely an answer is in none that is read.
# The same everywhere, so that the probability does not depend on the k of
# recall@k; what the retriever gives to blocks behind them is taken for nothing.
NUM_COMPARED = 100
# (question_ids int32 [B, Lx], title_ids int32 [B, K, Lt], body_ids int32
# [B, K, Lz], retrieval_scores float32 [B, K]) -> scores of spans by the body's
# wordpiece that they start at and width - 1, float32 [B, K, Lz, W], retrieval
# scores included.
Reader = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Answerer:
  """Answers questions in batches.

  Attributes:
    tokenizer: With the corpus's vocabulary.
    table: The corpus.
    retriever: Finds blocks for a question.
    reader: Scores spans. None in a model without a span reader, which then only
      retrieves.
    lengths: Says how many wordpieces of a question count.
    finetuning: Says how many blocks are read and at which joint length, how
      many questions go through the reader at once, and whether the best span
      or the best text is the answer.
    hybrid: Adds BM25's scores to those of the retriever, if it is given.
  """

  tokenizer: wordpiece.WordpieceTokenizer
  table: block_table.BlockTable
  retriever: retrieval_layer.RetrievalLayer
  reader: Optional[Reader]
  lengths: config_lib.LengthConfig
  finetuning: config_lib.FinetuningConfig
  hybrid: Optional[hybrid_lib.Hybrid] = None

  @property
  def num_read(self) -> int:
    """K, the blocks that are read for a question."""
    return min(self.finetuning.num_read, self.table.num_blocks)

  @property
  def num_compared(self) -> int:
    """Blocks to retrieve, so that it is known what was not read."""
    return min(max(self.num_read, NUM_COMPARED), self.table.num_blocks)

  def answer(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[answer_lib.Answer]:
    """Retrieves and reads.

    Args:
      questions: Any number.
      top_k: Evidence kept per answer; by default, of every block read.

    Returns:
      One answer per question, in order.
    """
    retrieved = self.retrieve(questions, self.num_compared)
    return self.read(questions, retrieved, top_k)

  def retrieve(
    self, questions: Sequence[str], k: int
  ) -> searcher_lib.Neighbors:
    """Returns the `k` best blocks of each question, [B, k]."""
    block_ids = np.full([len(questions), k], -1, np.int32)
    scores = np.full([len(questions), k], -np.inf, np.float32)
    # The best by both scores are not always among the k best by one of them.
    depth = max(k, self.num_compared) if self.hybrid else k
    for rows, question_ids in self._batches(questions):
      found = self.retriever(question_ids, depth)
      num_rows = rows.stop - rows.start
      found = searcher_lib.Neighbors(*(array[:num_rows] for array in found))
      if self.hybrid:
        found = self.hybrid.add(questions[rows], found, k)
      block_ids[rows], scores[rows] = found
    return searcher_lib.Neighbors(block_ids, scores)

  def read(
    self,
    questions: Sequence[str],
    retrieved: searcher_lib.Neighbors,
    top_k: Optional[int] = None,
  ) -> list[answer_lib.Answer]:
    """Reads the first `num_read` retrieved blocks of each question.

    Args:
      questions: B questions.
      retrieved: [B, k]; those that are not read only count for the probability
        that the answer is elsewhere.
      top_k: See `answer`.
    """
    answers = []
    for rows, question_ids in self._batches(questions):
      found = searcher_lib.Neighbors(
        retrieved.block_ids[rows, :NUM_COMPARED],
        retrieved.scores[rows, :NUM_COMPARED],
      )
      read = searcher_lib.Neighbors(
        *(array[:, : self.num_read] for array in found)
      )
      spans = self._best_spans(question_ids, read)
      candidates = self._candidates(read.block_ids, spans)
      answers += self._answers(
        questions[rows], found, candidates, spans.log_normalizers, top_k
      )
    return answers

  def _batches(self, questions: Sequence[str]):
    """Yields slices and their questions' wordpieces, int32 [P, Lx].

    P is a power of two or the full batch: a searcher that compiles for it sees
    few, and one question does not cost as much as a batch.
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
      ids = sampling.trim(ids, 1)
      yield rows, np.pad(ids, [(0, padded - num_rows), (0, 0)])

  def _best_spans(
    self, question_ids: np.ndarray, read: searcher_lib.Neighbors
  ) -> span_ranking.Spans:
    """Returns the best spans of each block that is read, [B, K, S]."""
    # [CLS] question [SEP] body [SEP]: the packer cuts what does not fit.
    title_ids, body_ids = self.table.gather(
      read.block_ids,
      self.lengths.title_tokens,
      self.finetuning.joint_tokens - 3,
    )
    scores = self.reader(
      question_ids[: len(body_ids)],
      title_ids,
      sampling.trim(body_ids, 1),
      _finite(read.scores),
    )
    scores = np.array(scores)
    scores[read.block_ids < 0] = -np.inf  # No block has no span.
    return span_ranking.best_spans(scores)

  def _candidates(
    self, block_ids: np.ndarray, spans: span_ranking.Spans
  ) -> list[list[answer_choice.Candidate]]:
    """Cuts each question's spans from the texts of their blocks."""
    readable = np.argwhere(spans.exists.any(axis=-1))
    ids = sorted({int(block_ids[tuple(place)]) for place in readable})
    texts = self.table.texts(ids)
    # The same wordpieces as the table's, but now with their offsets.
    texts = dict(zip(ids, zip(texts, self.tokenizer.tokenize_batch(texts))))
    candidates = [[] for _ in block_ids]
    for row, column in readable.tolist():
      text, tokens = texts[int(block_ids[row, column])]
      exists = spans.exists[row, column]
      starts = tokens.starts[spans.firsts[row, column][exists]].tolist()
      ends = tokens.ends[spans.ends[row, column][exists] - 1].tolist()
      scores = spans.scores[row, column][exists].tolist()
      candidates[row] += [
        answer_choice.Candidate(column, start, end, text[start:end], score)
        for start, end, score in zip(starts, ends, scores)
      ]
    return candidates

  def _answers(
    self,
    questions: Sequence[str],
    found: searcher_lib.Neighbors,
    candidates: Sequence[Sequence[answer_choice.Candidate]],
    log_normalizers: np.ndarray,
    top_k: Optional[int],
  ) -> list[answer_lib.Answer]:
    answers = []
    for row, question in enumerate(questions):
      if not candidates[row]:
        answers.append(answer_lib.Answer(question, '', None, []))
        continue
      choice = answer_choice.choose(candidates[row], self.finetuning.answer_by)
      columns = [candidate.column for candidate in choice.shown]
      covered = span_ranking.softmax(found.scores[row])[columns].sum()
      answers.append(
        answer_lib.Answer(
          question,
          choice.shown[0].text,
          choice.score,
          self._evidence(found, row, choice.shown[:top_k], candidates[row]),
          min(1.0, math.exp(choice.log_sum - log_normalizers[row])),
          max(0.0, 1.0 - float(covered)),
        )
      )
    return answers

  def _evidence(self, found, row, shown, candidates):
    """Returns the evidence of one question, in the order of `shown`."""
    probabilities = span_ranking.softmax(found.scores[row, : self.num_read])
    columns = [candidate.column for candidate in shown]
    ids = found.block_ids[row, columns].tolist()
    titles, texts = self.table.titles(ids), self.table.texts(ids)
    evidence = []
    for block_id, title, text, span in zip(ids, titles, texts, shown):
      own = [other for other in candidates if other.column == span.column]
      alone = answer_choice.choose(own, self.finetuning.answer_by)
      evidence.append(
        answer_lib.Evidence(
          block_id,
          title,
          text,
          span.start,
          span.end,
          span.text,
          float(probabilities[span.column]),
          span.score,
          alone.shown[0].text,
        )
      )
    return evidence


def _finite(scores: np.ndarray) -> np.ndarray:
  """Keeps -inf, the score of no block, from becoming NaN in the reader."""
  return np.where(np.isfinite(scores), scores, 0.0).astype(np.float32)
