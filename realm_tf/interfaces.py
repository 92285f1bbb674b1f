"""The parts that can be replaced, as protocols on one page.

A part of your own has the method of its protocol and needs no base class:

  spans = tagger.tag(sentences)             # What to mask (Section 3.4).
  vectors = embed(question_ids)             # Embed_input(x) (Eq. 3).
  nearest = searcher.search(vectors, k)     # argmax_z f(x,z), Embed_doc(z) held
  found = retriever.retrieve(queries, k)    #   by the searcher; a retriever may
                                            #   also read words or links.
  scores = read(question_ids, title_ids, body_ids, found.scores)  # p(y|z,x)
  for name, values in judge(outcome):       # One value of each question.
    print(name, values.mean())

Taggers are in `training.taggers`, searchers in `index`, retrievers in
`retrieval`, readers and judges in `qa`. docs/contract.md names their flags.
"""

from collections.abc import Callable, Iterator, Sequence
import dataclasses
import functools
from typing import Any, NamedTuple, Protocol

import numpy as np

# The null block, an empty candidate, and the mark of a missing block. Ids of
# other blocks are rows of the corpus, from 0.
NULL_BLOCK = -1

# Score of an excluded candidate: padding, or a span outside its block. Far
# below any score, so its probability is 0. Finite, so sums are not NaN, and a
# row of excluded candidates alone has a gradient of 0.
NO_SCORE = -1e9

Spans = list[tuple[int, int]]  # Characters (start, end).
Values = Iterator[tuple[str, np.ndarray]]  # Name, value of each question.


class Neighbors(NamedTuple):
  """The K blocks with the largest inner product, best first."""

  block_ids: np.ndarray  # int32 [Q, K], rows of the embeddings.
  # float32 [Q, K]. Some searchers approximate scores, so training computes
  # f(x,z) again from the block's text.
  scores: np.ndarray


class Scores(NamedTuple):
  """Scores of the spans of each block.

  Attributes:
    spans: float32 [B, K, Lz, W]. Entry (s, w) scores the w + 1 wordpieces from
      the block's wordpiece s, NO_SCORE if they leave the block or cut a word.
    null: Score of the null span, that no block has the answer, float32 [B, K];
      NO_SCORE without null spans.
  """

  spans: Any
  null: Any


def has_score(scores: Any) -> Any:
  """Returns where `scores`, perhaps plus other scores, are not NO_SCORE."""
  return scores > NO_SCORE / 2


class Tagger(Protocol):
  """Finds salient spans."""

  def tag(self, texts: Sequence[str]) -> list[Spans]:
    """Returns each text's spans, sorted, without overlaps."""


class Embed(Protocol):
  """Embeds texts."""

  def __call__(self, ids: np.ndarray, /) -> np.ndarray:
    """Returns float32 [B, D] of wordpieces, int32 [B, L], zeros after them."""


class Searcher(Protocol):
  """Finds the blocks with the largest inner product with a query."""

  def search(self, queries: np.ndarray, k: int) -> Neighbors:
    """Returns the top `k` blocks of each of float32 `queries`, [Q, D].

    If there are fewer than `k`, the result has fewer columns, or rows end
    with -1.
    """


@dataclasses.dataclass(frozen=True)
class Queries:
  """B texts. An index reads their `ids`, a search by words their `texts`."""

  ids: np.ndarray  # Wordpieces, int32 [B, Lx], zeros after them.
  read_texts: Callable[[], Sequence[str]]

  @functools.cached_property
  def texts(self) -> Sequence[str]:
    return self.read_texts()

  def __len__(self) -> int:
    return len(self.ids)

  def take(self, rows: Sequence[int] | np.ndarray) -> 'Queries':
    """Returns the queries of `rows`, trimmed to the longest one."""
    ids = self.ids[rows]
    width = int(np.max(np.nonzero(ids)[1], initial=0)) + 1
    return Queries(ids[:, :width], lambda: [self.texts[row] for row in rows])


class Retriever(Protocol):
  """Finds blocks for queries."""

  def retrieve(self, queries: Queries, k: int) -> Neighbors:
    """Returns the `k` best blocks or more, [B, >= k], best first.

    Where there are fewer, block ids are -1 and scores -inf.
    """


class Reader(Protocol):
  """Scores the spans of K blocks."""

  def __call__(
    self,
    question_ids: np.ndarray,
    title_ids: np.ndarray,
    body_ids: np.ndarray,
    retrieval_scores: np.ndarray,
  ) -> Scores:
    """Returns scores with the retrieval scores in them.

    Args:
      question_ids: int32 [B, Lx].
      title_ids: int32 [B, K, Lt].
      body_ids: int32 [B, K, Lz].
      retrieval_scores: float32 [B, K].
    """


class Judge(Protocol):
  """Measures a system; means, intervals and tables follow from its values."""

  def __call__(self, outcome: Any, /) -> Values:
    """Yields (name, value of each question) of a `qa.outcome.Outcome`."""
