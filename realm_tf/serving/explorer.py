"""Other looks at a corpus, for the page: by title, word, article and search."""

from collections.abc import Callable, Sequence
import dataclasses
import functools
import itertools
from typing import Any

import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import block_table
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import loading
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import plain_letters
from realm_tf.text import sentences

WORDS, EMBEDDINGS, BOTH = 'words', 'embeddings', 'both'
_NUM_TITLES, _NUM_BLOCKS = 8, 10  # Most results of a search.
_NUM_AROUND = 100  # Most blocks of an article before and after a block.


@dataclasses.dataclass(frozen=True)
class Explorer:
  """A corpus, its searches and the reader; not safe for several threads.

  Attributes:
    answerer: The server's own; its table has the changed texts.
    open_dense: Opens the search by embeddings alone, or returns the open one.
      None without an index.
    corpus: The corpus without changes.
    own: The server's own search: WORDS, EMBEDDINGS, BOTH or ''.
    sparse_weight: Weight of BM25 in BOTH.
    article_blocks: Returns the ids of all blocks of a block's article; none
      for an unknown block.
    build_words: Builds BM25, or returns a kept one; any thread may call it.
    new_titles: Returns titles that `corpus` lacks, with their first blocks.
    most_blocks: Blocks for which BM25 is built while a user waits.
  """

  answerer: answerer_lib.Answerer
  open_dense: Callable[[], interfaces.Retriever] | None
  corpus: block_table.BlockTable
  own: str
  sparse_weight: float
  article_blocks: Callable[[int], np.ndarray]
  build_words: Callable[[], interfaces.Retriever]
  new_titles: Callable[[], list[tuple[str, int]]] = list
  most_blocks: int = 500_000

  @property
  def can_search(self) -> bool:
    """Whether BM25 is there, or can be built while a user waits."""
    is_kept = self.own in (WORDS, BOTH)
    return is_kept or self.corpus.num_blocks <= self.most_blocks

  def words(self) -> interfaces.Retriever:
    """Returns BM25, or raises RequestError."""
    if not self.can_search:
      raise errors.RequestError(
        'This server searches no words: its corpus is too large.', status=404
      )
    try:
      return self.build_words()
    except errors.UserError as error:
      raise errors.RequestError(str(error), status=404) from error

  def find(self, text: str) -> dict[str, Any]:
    """Returns articles with `text` in the title, and blocks with its words.

    The closest titles are first.
    """
    found = self.words().retrieve(retriever_lib.of_texts([text]), _NUM_BLOCKS)
    ids = found.block_ids[0][found.scores[0] > 0].tolist()
    part = plain_letters.plain(text.strip())
    new = ((plain_letters.plain(t), first) for t, first in self.new_titles())
    hits = [hit for hit in (*self._titles, *new) if part in hit[0]]
    hits.sort(key=lambda hit: (not hit[0].startswith(part), len(hit[0])))
    there = (first for _, first in hits if self.article_blocks(first).size)
    nearest = list(itertools.islice(there, _NUM_TITLES))
    return {
      'articles': self._blocks(nearest, 'title'),
      'blocks': self._blocks(ids, 'title', 'text'),
    }

  def article(self, block_id: int) -> dict[str, Any]:
    """Returns the blocks of a block's article, or RequestError."""
    ids = self.article_blocks(block_id)
    if not ids.size:
      raise errors.RequestError(
        f'The corpus has no block {block_id}.', status=404
      )
    place = int(np.flatnonzero(ids == block_id)[0])
    near = ids[max(0, place - _NUM_AROUND) : place + _NUM_AROUND + 1].tolist()
    table = self.answerer.table
    return {
      'article_id': table.article_ids([block_id])[0],
      'title': table.titles([block_id])[0],
      'num_blocks': len(ids),
      'blocks': self._blocks(near, 'text'),
    }

  def compare(self, question: str) -> dict[str, Any]:
    """Returns the answer from the blocks of each search; one reader reads."""
    words, answerer = self.words(), self.answerer
    by_words = retriever_lib.InBatches(
      words, answerer.finetuning.eval_batch_size, filled=False
    )
    searches = {WORDS: dataclasses.replace(answerer, retriever=by_words)}
    if self.open_dense:
      dense = dataclasses.replace(answerer, retriever=self.open_dense())
      searches[EMBEDDINGS] = dense
      searches[BOTH] = loading.with_sparse(dense, words, self.sparse_weight)
    return {
      'searches': [
        {
          'search': name,
          'is_own': name == self.own,
          'answer': answer.prediction,
          'evidence': list(map(block_of, answer.evidence)),
        }
        for name, each in searches.items()
        for answer in each.answer([question])
      ]
    }

  @functools.cached_property
  def _titles(self) -> list[tuple[str, int]]:
    """The plain titles of the corpus, with their first blocks."""
    titles = [*map(plain_letters.plain, self.corpus.all_titles())]
    firsts = np.searchsorted(self.corpus.article_rows, np.arange(len(titles)))
    return [*zip(titles, firsts.tolist())]

  def _blocks(self, ids: Sequence[int], *fields: str) -> list[dict[str, Any]]:
    """Returns the ids of blocks, with their titles or texts or both."""
    table = self.answerer.table
    read = {'title': table.titles, 'text': table.texts}
    columns = [ids, *(read[field](ids) for field in fields)]
    names = ('block_id', *fields)
    return [dict(zip(names, row)) for row in zip(*columns, strict=True)]


def sentence_of(item: answer_lib.Evidence) -> tuple[int, int]:
  """Returns the characters of the sentences that hold the span."""
  touched = [
    (start, end)
    for start, end in sentences.split_sentences(item.text)
    if end > item.start and start < max(item.end, item.start + 1)
  ]
  if not touched:
    return 0, len(item.text)
  return touched[0][0], touched[-1][1]


def block_of(item: answer_lib.Evidence) -> dict[str, Any]:
  """Returns a block for the page, with its sentence to show."""
  return {**item._asdict(), 'sentence': sentence_of(item)}
