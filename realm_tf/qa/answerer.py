"""Question -> wordpieces -> K blocks -> span scores -> answer with evidence.

Answers are cut from the block's text by character offsets: joined wordpieces
would answer "u . s ." for "U.S.".
"""

from collections.abc import Iterable, Sequence
import dataclasses
import math
from typing import Any, NamedTuple, Optional, cast

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.data import sampling
from realm_tf.model import realm_model
from realm_tf.model import seq2seq
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answer_choice
from realm_tf.qa import calibration as calibration_lib
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import sentencepieces
from realm_tf.text import wordpiece

_BOOK_BATCH = 64


class Found(NamedTuple):
  """A block that a search found, its retrieval score, and its article's id."""

  block_id: int
  title: str
  text: str
  score: float
  article_id: str


def number_of_blocks(name: str, given: Any) -> int:
  """Returns the argument `name`; UserError unless it is 1 or more."""
  if isinstance(given, (int, np.integer)) and given >= 1:
    return int(given)
  raise errors.UserError(
    f'`{name}` must be 1 or more. Found {given!r}. Give how many blocks you '
    'need.'
  )


@dataclasses.dataclass(frozen=True)
class Answerer:
  """Answers questions in batches; a model without `reader` only retrieves.

  Attributes:
    confidence: Of probabilities, and of refusing.
  """

  tokenizer: wordpiece.WordpieceTokenizer
  table: block_table.BlockTable
  retriever: interfaces.Retriever
  reader: Optional[interfaces.Reader]
  lengths: config_lib.LengthConfig
  finetuning: config_lib.FinetuningConfig
  confidence: calibration_lib.Confidence = calibration_lib.Confidence()

  @property
  def num_read(self) -> int:
    """K, the number of blocks to read for a question."""
    return min(self.finetuning.num_read, self.table.num_blocks)

  @property
  def num_compared(self) -> int:
    """Number of blocks to retrieve, to read or only to compare."""
    return min(
      max(self.num_read, config_lib.NUM_COMPARED), self.table.num_blocks
    )

  def answer(
    self, questions: Sequence[str], top_k: Optional[int] = None
  ) -> list[answer_lib.Answer]:
    """Answers questions; `top_k` limits the evidence of each."""
    queries = self.queries(questions)
    retrieved = self.retriever.retrieve(queries, self.num_compared)
    return self.read(queries, retrieved, top_k)

  def search(self, text: str, k: int) -> list[Found]:
    """Returns the `k` best blocks for a text, best first."""
    k = min(number_of_blocks('k', k), self.table.num_blocks)
    (ids,), (scores,) = self.retriever.retrieve(self.queries([text]), k)
    places = np.flatnonzero(ids >= 0)[:k]
    ids, table = ids[places].tolist(), self.table
    columns = (
      table.titles(ids),
      table.texts(ids),
      scores[places].tolist(),
      table.article_ids(ids),
    )
    return [Found(*fields) for fields in zip(ids, *columns, strict=True)]

  def queries(self, questions: Sequence[str]) -> interfaces.Queries:
    """Tokenizes questions for retriever and reader."""
    ids = self.tokenizer.token_ids_batch(list(questions))
    return retriever_lib.of_texts(
      questions, sampling.pad_rows(ids, self.lengths.searched_tokens)
    )

  def read(
    self,
    queries: interfaces.Queries,
    retrieved: interfaces.Neighbors,
    top_k: Optional[int] = None,
  ) -> list[answer_lib.Answer]:
    """Reads the first `num_read` of the retrieved blocks, [B, k].

    The other blocks only count for `null_probability`. Without a reader the
    evidence is these blocks, and the prediction ''.
    """
    if self.reader is None:
      return self._unread(queries.texts, retrieved, top_k)
    answers = []
    size = self.finetuning.eval_batch_size
    for start in range(0, len(queries), size):
      rows = range(len(queries))[start : start + size]
      found = interfaces.Neighbors(
        *(array[rows, : config_lib.NUM_COMPARED] for array in retrieved)
      )
      read = interfaces.Neighbors(
        *(array[:, : self.num_read] for array in found)
      )
      batch = queries.take(rows)
      ids = batch.ids[:, : self.lengths.question_tokens]
      spans = self._best_spans(ids, read)
      answers += self._answers(batch.texts, found, spans, top_k)
    return answers

  def _best_spans(
    self, question_ids: np.ndarray, read: interfaces.Neighbors
  ) -> answer_choice.Spans:
    """Returns the best spans of each read block, [B, K, S]."""
    # [CLS] question [SEP] body [SEP]: the packer cuts longer bodies.
    title_ids, body_ids = self.table.gather(
      read.block_ids,
      self.lengths.title_tokens,
      self.finetuning.joint_tokens - 3,
    )
    # -inf, the score of no block, would make NaN.
    found = np.where(np.isfinite(read.scores), read.scores, 0.0)
    scores = cast(interfaces.Reader, self.reader)(
      question_ids,
      title_ids,
      sampling.trim(body_ids, 1),
      found.astype(np.float32),
    )
    spans, null = map(np.array, scores)
    spans[read.block_ids < 0] = -np.inf  # No block has no span.
    null[read.block_ids < 0] = -np.inf
    return answer_choice.best_spans(spans, null)

  def _cut(
    self, block_ids: np.ndarray, spans: answer_choice.Spans
  ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns starts and ends in characters and texts, [B, K, S] each."""
    exists = spans.scores > answer_choice.NOTHING
    readable = np.argwhere(exists.any(axis=-1))
    ids = sorted({int(block_ids[tuple(place)]) for place in readable})
    texts = self.table.texts(ids)
    # The table has the same wordpieces, but without offsets.
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
    found: interfaces.Neighbors,
    spans: answer_choice.Spans,
    top_k: Optional[int],
  ) -> list[answer_lib.Answer]:
    """Chooses the answers and their evidence."""
    starts, ends, texts = self._cut(found.block_ids, spans)
    keys = [answer_choice.key(text) for text in texts.ravel().tolist()]
    keys = np.unique(keys, return_inverse=True)[1].reshape(texts.shape)
    by = self.finetuning.answer_by
    choice = answer_choice.choose(spans.scores, keys, by)
    alone = _alone(spans.scores, keys, texts, by)
    p_z = answer_choice.softmax(found.scores[:, : self.num_read])
    p_y = answer_choice.reading_probabilities(spans)
    unread = _unread_share(found.scores, choice)
    signals = calibration_lib.signals(choice, spans, unread)
    probabilities = self.confidence.probability(signals)
    probabilities = probabilities * choice.exists.any(axis=1)
    refused = self.confidence.refuses(probabilities, signals.null)
    answers = []
    for row, question in enumerate(questions):
      columns = choice.columns[row][choice.exists[row]]
      if not columns.size:
        empty = answer_lib.Answer(question, '', None, [])
        answers.append(empty._replace(is_refused=bool(refused[row])))
        continue
      best = columns, choice.places[row][: len(columns)]
      evidence = zip(
        *(array[row][best].tolist() for array in (starts, ends, texts)),
        p_z[row][columns].tolist(),
        spans.scores[row][best].tolist(),
        alone[row][columns].tolist(),
        p_y[row][best].tolist(),
      )
      answers.append(
        answer_lib.Answer(
          question,
          texts[row][best][0],
          float(choice.scores[row]),
          self._evidence(found.block_ids[row, columns[:top_k]], evidence),
          float(probabilities[row]),
          float(unread[row]),
          bool(refused[row]),
          calibration_lib.Signals(*(float(each[row]) for each in signals)),
        )
      )
    return answers

  def _unread(
    self,
    questions: Sequence[str],
    retrieved: interfaces.Neighbors,
    top_k: Optional[int],
  ) -> list[answer_lib.Answer]:
    """Returns answers without text: their evidence is the best blocks."""
    compared = answer_choice.softmax(retrieved.scores)
    found = answer_choice.softmax(retrieved.scores[:, : self.num_read])
    answers = []
    for row, question in enumerate(questions):
      columns = np.flatnonzero(retrieved.block_ids[row, : self.num_read] >= 0)
      shares = found[row, columns].tolist()
      scores = map(float, retrieved.scores[row, columns])
      fields = ((0, 0, '', *each, '') for each in zip(shares, scores))
      ids = retrieved.block_ids[row, columns[:top_k]]
      null = max(0.0, 1.0 - float(compared[row, columns].sum()))
      evidence = self._evidence(ids, fields)
      answers.append(answer_lib.Answer(question, '', None, evidence, 0.0, null))
    return answers

  def _evidence(
    self, block_ids: np.ndarray, fields: Iterable[tuple[Any, ...]]
  ) -> list[answer_lib.Evidence]:
    """Returns the blocks' evidence; `fields` are its fields after the text."""
    ids, table = block_ids.tolist(), self.table
    columns = ids, table.titles(ids), table.texts(ids)
    return [
      answer_lib.Evidence(*block, *more)._replace(article_id=article_id)
      for block, more, article_id in zip(
        zip(*columns), fields, table.article_ids(ids)
      )
    ]


class ClosedBook:
  """Answers from an encoder-decoder's memory alone, by greedy decoding."""

  def __init__(
    self,
    model: realm_model.RealmModel,
    tokenizer: wordpiece.WordpieceTokenizer
    | sentencepieces.SentencepieceTokenizer,
    config: config_lib.ClosedBookConfig,
    table: block_table.BlockTable,
  ):
    self.table = table
    self._tokenizer = tokenizer
    self._length = config.input_tokens
    _, self._end_id = tokenizer.special_ids

    @tf.function(
      input_signature=[
        tf.TensorSpec([_BOOK_BATCH, config.input_tokens], tf.int32)
      ],
      autograph=False,
    )
    def write(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
      found = model.seq2seq.greedy(ids, config.answer_tokens, self._end_id)
      return found, model.seq2seq.log_likelihood(ids, found)

    self._write = write

  def answer(self, questions: Sequence[str]) -> list[answer_lib.Answer]:
    """Answers questions without evidence; `score` is log p(y|x)."""
    ids = sampling.end_rows(
      self._tokenizer.token_ids_batch(list(questions)),
      self._length,
      self._end_id,
    )
    answers = []
    for start in range(0, len(ids), _BOOK_BATCH):
      some = ids[start : start + _BOOK_BATCH]
      padded = np.pad(some, [(0, _BOOK_BATCH - len(some)), (0, 0)])
      found, scores = (each.numpy() for each in self._write(padded))
      for row, own, score in zip(range(start, len(ids)), found, scores):
        kept = own[(own != seq2seq.PAD_ID) & (own != self._end_id)]
        text = self._tokenizer.detokenize(kept)
        probability = math.exp(min(0.0, score))
        answers.append(
          answer_lib.Answer(questions[row], text, float(score), [], probability)
        )
    return answers

  def read(
    self, queries: interfaces.Queries, retrieved: Any
  ) -> list[answer_lib.Answer]:
    """Answers queries; nothing was retrieved."""
    del retrieved
    return self.answer(queries.texts)


def _alone(
  scores: np.ndarray, keys: np.ndarray, texts: np.ndarray, by: str
) -> np.ndarray:
  """Returns the answer if each block were the only one, [B, K]."""
  single = [-1, 1, texts.shape[2]]
  choice = answer_choice.choose(
    scores.reshape(single), keys.reshape(single), by
  )
  places = choice.places.reshape(*texts.shape[:2], 1)
  return np.take_along_axis(texts, places, axis=-1)[..., 0]


def _unread_share(
  scores: np.ndarray, choice: answer_choice.Choice
) -> np.ndarray:
  """Returns the share of the other blocks than the shown ones, float32 [B]."""
  compared = answer_choice.softmax(scores)
  shown = np.take_along_axis(compared, choice.columns, axis=1) * choice.exists
  return np.maximum(1.0 - shown.sum(axis=1), 0.0)
