"""A question -> ranked answers, each cut from the text of its block.

  question -> wordpieces -> K blocks -> span scores -> characters of a block

Answers are cut from the block's text by character offsets: joined wordpieces
would answer "u . s ." for "U.S.".
"""

from collections.abc import Callable, Sequence
import dataclasses
import math
from typing import Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf.answering import answer as answer_lib
from realm_tf.answering import answer_choice
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import block_table
from realm_tf.records import sampling
from realm_tf.retrieval import hybrid as hybrid_lib
from realm_tf.retrieval import retrieval_layer
from realm_tf.text import wordpiece

# Blocks over which p(z|x) tells how likely the answer is in none that is read.
# Constant, so that this probability does not depend on the k of recall@k.
# (question_ids int32 [B, Lx], title_ids int32 [B, K, Lt], body_ids int32
# [B, K, Lz], retrieval_scores float32 [B, K]) -> scores of spans by the body's
# wordpiece that they start at and width - 1, float32 [B, K, Lz, W], retrieval
# scores included.
Reader = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class Answerer:
  """Answers questions in batches.

  Attributes:
    reader: Scores spans. None in a model without a span reader, which then only
      retrieves.
    lengths: Longest question, in wordpieces.
    finetuning: Number of blocks to read, joint length, batch size, and whether
      the best span or the best text is the answer.
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
    """Blocks to retrieve: those to read, and those they are compared with."""
    return min(
      max(self.num_read, config_lib.NUM_COMPARED), self.table.num_blocks
    )

  def ask(
    self, question: str, top_k: Optional[int] = None
  ) -> answer_lib.Answer:
    """Answers one question; `answer` is faster for many."""
    return self.answer([question], top_k)[0]

  def answer(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[answer_lib.Answer]:
    """Answers questions, in order.

    Args:
      top_k: Evidence kept per answer; by default, of every block read.
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
      retrieved: Blocks, [B, k]. Those that are not read only count for the
        probability that the answer is elsewhere.
    """
    answers = []
    for rows, question_ids in self._batches(questions):
      found = searcher_lib.Neighbors(
        retrieved.block_ids[rows, : config_lib.NUM_COMPARED],
        retrieved.scores[rows, : config_lib.NUM_COMPARED],
      )
      read = searcher_lib.Neighbors(
        *(array[:, : self.num_read] for array in found)
      )
      spans = self._best_spans(question_ids, read)
      answers += self._answers(questions[rows], found, spans, top_k)
    return answers

  def _batches(self, questions: Sequence[str]):
    """Yields slices and their questions' wordpieces, int32 [P, Lx].

    P is a power of two or the full batch: a searcher that compiles for each
    size sees few, and one question does not cost as much as a batch.
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
  ) -> answer_choice.Spans:
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
    return answer_choice.best_spans(scores)

  def _cut(self, block_ids: np.ndarray, spans: answer_choice.Spans):
    """Returns the spans' first characters, ends and texts, [B, K, S] each."""
    exists = spans.scores > answer_choice.NOTHING
    readable = np.argwhere(exists.any(axis=-1))
    ids = sorted({int(block_ids[tuple(place)]) for place in readable})
    texts = self.table.texts(ids)
    # The same wordpieces as the table's, but now with their offsets.
    texts = dict(zip(ids, zip(texts, self.tokenizer.tokenize_batch(texts))))
    starts, ends = np.zeros([2, *exists.shape], np.int64)
    cut = np.full(exists.shape, '', object)
    for place in map(tuple, readable):
      text, tokens = texts[int(block_ids[place])]
      used = exists[place]
      starts[place][used] = tokens.starts[spans.firsts[place][used]]
      ends[place][used] = tokens.ends[spans.lasts[place][used]]
      cut[place] = [text[i:j] for i, j in zip(starts[place], ends[place])]
    return starts, ends, cut

  def _answers(
    self,
    questions: Sequence[str],
    found: searcher_lib.Neighbors,
    spans: answer_choice.Spans,
    top_k: Optional[int],
  ) -> list[answer_lib.Answer]:
    """Chooses the answers and their evidence."""
    starts, ends, texts = self._cut(found.block_ids, spans)
    keys = [answer_choice.key(text) for text in texts.flat]
    keys = np.unique(keys, return_inverse=True)[1].reshape(texts.shape)
    by = self.finetuning.answer_by
    choice = answer_choice.choose(spans.scores, keys, by)
    # Each block as if it were the only one.
    single = [len(questions) * texts.shape[1], 1, texts.shape[2]]
    alone = answer_choice.choose(
      spans.scores.reshape(single), keys.reshape(single), by
    ).places.reshape(*texts.shape[:2], 1)
    alone = np.take_along_axis(texts, alone, axis=-1)[..., 0]
    compared = answer_choice.softmax(found.scores)
    probabilities = answer_choice.softmax(found.scores[:, : self.num_read])
    answers = []
    for row, question in enumerate(questions):
      columns = choice.columns[row][choice.exists[row]]
      if not columns.size:
        answers.append(answer_lib.Answer(question, '', None, []))
        continue
      shown = columns, choice.places[row][: len(columns)]
      fields = (starts, ends, texts)
      evidence = zip(
        *(array[row][shown].tolist() for array in fields),
        probabilities[row][columns].tolist(),
        spans.scores[row][shown].tolist(),
        alone[row][columns].tolist(),
      )
      log_probability = choice.log_sums[row] - spans.log_normalizers[row]
      answers.append(
        answer_lib.Answer(
          question,
          texts[row][shown][0],
          float(choice.scores[row]),
          self._evidence(found.block_ids[row, columns[:top_k]], evidence),
          min(1.0, math.exp(log_probability)),
          max(0.0, 1.0 - float(compared[row, columns].sum())),
        )
      )
    return answers

  def _evidence(self, block_ids, fields) -> list[answer_lib.Evidence]:
    """Returns the evidence of the blocks; `fields` are those after the text."""
    ids = block_ids.tolist()
    blocks = zip(ids, self.table.titles(ids), self.table.texts(ids), fields)
    return [answer_lib.Evidence(*block[:3], *block[3]) for block in blocks]


def _finite(scores: np.ndarray) -> np.ndarray:
  """Keeps -inf, the score of no block, from becoming NaN in the reader."""
  return np.where(np.isfinite(scores), scores, 0.0).astype(np.float32)
