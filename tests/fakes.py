"""Small stand-ins without files: tokenizer, corpus, retrievers, reader."""

from collections.abc import Callable, Sequence
from concurrent import futures
from typing import Any

import numpy as np

from realm_tf import interfaces
from realm_tf.data import columns
from realm_tf.text import wordpiece


def tokenizer(words: str) -> wordpiece.WordpieceTokenizer:
  """Returns a tokenizer with special tokens (ids 0 to 4) and `words`."""
  return wordpiece.WordpieceTokenizer(
    ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', *words.split()]
  )


class FakeTable:
  """A `BlockTable` over texts in memory."""

  def __init__(
    self,
    tokenize: wordpiece.WordpieceTokenizer,
    titles: Sequence[str],
    texts: Sequence[str],
  ):
    self._titles, self._texts = titles, texts
    self._title_ids, self._body_ids = (
      columns.Rows.of_ids(tokenize.token_ids_batch(each))
      for each in (titles, texts)
    )
    self.num_blocks = len(texts)

  def titles(self, ids: Sequence[int]) -> list[str]:
    return [self._titles[i] for i in ids]

  def texts(self, ids: Sequence[int]) -> list[str]:
    return [self._texts[i] for i in ids]

  def article_ids(self, ids: Sequence[int]) -> list[str]:
    return [f'article {i}' for i in ids]

  def find_article(self, article_id: str) -> np.ndarray:
    ids = np.arange(self.num_blocks)
    return ids[[each == article_id for each in self.article_ids(ids)]]

  def lengths(self, ids: Any = slice(None)) -> tuple[np.ndarray, np.ndarray]:
    return self._title_ids.lengths(ids), self._body_ids.lengths(ids)

  def gather(
    self, ids: np.ndarray, title_length: int, body_length: int
  ) -> tuple[np.ndarray, np.ndarray]:
    return (
      self._title_ids.gather(ids, title_length),
      self._body_ids.gather(ids, body_length),
    )


class FakeRetriever:
  """Finds the same blocks for every question, and records the questions."""

  def __init__(self, block_ids: Sequence[int], scores: Sequence[float]):
    self._block_ids, self._scores = list(block_ids), list(scores)
    self.asked: list[np.ndarray] = []

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    self.asked.append(queries.ids)
    repeat = [len(queries), 1]
    missing = max(0, k - len(self._block_ids))
    block_ids = self._block_ids[:k] + [-1] * missing
    scores = self._scores[:k] + [-np.inf] * missing
    return interfaces.Neighbors(
      np.tile(np.array(block_ids, np.int32), repeat),
      np.tile(np.array(scores, np.float32), repeat),
    )


class FoundBy:
  """Finds block ids by a function of the queries' wordpieces and k."""

  def __init__(self, find: Callable[[np.ndarray, int], np.ndarray]):
    self._find = find

  def retrieve(
    self, queries: interfaces.Queries, k: int
  ) -> interfaces.Neighbors:
    ids = np.asarray(self._find(queries.ids, k), np.int32)
    return interfaces.Neighbors(ids, np.zeros(ids.shape, np.float32))


class FakeReader:
  """Prefers one span in each body.

  Args:
    liked: First wordpiece id of a body -> (start, width, score) of the span.
    max_width: W.
  """

  def __init__(self, liked: dict[int, tuple[int, int, float]], max_width: int):
    self._liked, self._max_width = liked, max_width

  def __call__(self, question_ids, title_ids, body_ids, retrieval_scores):
    del question_ids, title_ids
    scores = np.full(
      [*body_ids.shape, self._max_width], interfaces.NO_SCORE, np.float32
    )
    for row, column in np.ndindex(body_ids.shape[:2]):
      liked = self._liked.get(int(body_ids[row, column, 0]))
      if liked:
        first, width, score = liked
        scores[row, column, first, width - 1] = (
          score + retrieval_scores[row, column]
        )
    null = np.full(body_ids.shape[:2], interfaces.NO_SCORE, np.float32)
    return interfaces.Scores(scores, null)


def in_foreground(
  function: Callable[..., Any], *arguments: Any
) -> futures.Future:
  """Runs a function at once, as an executor's `submit` runs it later."""
  future: futures.Future = futures.Future()
  try:
    future.set_result(function(*arguments))
  except Exception as error:
    future.set_exception(error)
  return future
