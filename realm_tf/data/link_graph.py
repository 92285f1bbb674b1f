"""Links between the articles of a corpus, as a compressed sparse row graph.

  links/targets.npy          int32, targets of each article's links
  links/targets.offsets.npy  int64, where each article's targets begin
  links/named.npy            uint64 [n, 2], hashes (article, title) of links
  links/redirects.npy        uint64 [n, 2], hashes (title, title) of redirects

Articles are numbered by their rows in `block_table.BlockTable`. The last two
files, of links in the source, let a corpus grow. Of ten million titles, some
two have one hash with a probability of 1 in 400,000.
"""

import array
from collections.abc import Iterable, Iterator
import os
import re
from typing import Any

import numpy as np
import scipy.sparse

from realm_tf import errors
from realm_tf.config import names
from realm_tf.corpus import sources
from realm_tf.corpus import wikitext
from realm_tf.data import block_table
from realm_tf.data import columns

_FOLDER = 'links'
_NAMED = ('named', 'redirects')
_MAX_WORDS = 8  # Longer titles get no links.
_BATCH_BLOCKS = 1024
_WORD = re.compile(r'[^\W_]+')


def open_graph(
  corpus_dir: str, manifest: dict[str, Any], num_articles: int
) -> scipy.sparse.csr_array:
  """Opens the links between A articles, [A, A]; UserError without links."""
  if not manifest.get('links'):
    raise errors.UserError(
      f'A corpus must hold links between its articles. Found none in '
      f'{corpus_dir}. Make it again with bin.make_blocks --links=markup or '
      '--links=titles.'
    )
  folder = os.path.join(corpus_dir, _FOLDER)
  column = columns.Rows.open(folder, 'targets', np.int32, num_articles)
  ones = np.ones(len(column.values), bool)
  return scipy.sparse.csr_array(
    (ones, column.values, column.offsets), [num_articles] * 2
  )


def graph_of(
  origins: np.ndarray, targets: np.ndarray, num_articles: int
) -> scipy.sparse.csr_array:
  """Returns the graph of edges without repeats, loops and negative ends."""
  kept = (origins >= 0) & (targets >= 0) & (targets != origins)
  graph = scipy.sparse.coo_array(
    (np.ones(kept.sum(), bool), (origins[kept], targets[kept])),
    [num_articles] * 2,
  ).tocsr()
  graph.sum_duplicates()
  return graph


class CorpusLinks:
  """Finds the links of a corpus and writes them.

  Args:
    kind: One of `names.LINKS`.
    corpus_dir: Corpus with links of this kind that grows, if any.
  """

  def __init__(self, kind: str, corpus_dir: str = ''):
    self.kind = kind
    self._old = {name: np.zeros([0, 2], np.uint64) for name in _NAMED}
    self._new = {name: array.array('Q') for name in _NAMED}
    if corpus_dir and kind == names.MARKUP:
      for name in _NAMED:
        path = os.path.join(corpus_dir, _FOLDER, f'{name}.npy')
        self._old[name] = columns.open_array(path, np.uint64, [None, 2])

  def noting(
    self, articles: Iterable[sources.Article]
  ) -> Iterator[sources.Article]:
    """Yields the new articles, and notes the links of each that is read."""
    for article in articles:
      if self.kind == names.MARKUP:
        key = _key(article.article_id, article.title)
        for title in dict.fromkeys(map(wikitext.normal_title, article.links)):
          self._new['named'].extend((key, block_table.text_hash(title)))
      yield article

  def add_redirect(self, title: str, goal: str) -> None:
    """Makes links to `title` lead to `goal`."""
    self._new['redirects'].extend(map(_title_hash, (title, goal)))

  def write(self, corpus_dir: str) -> dict[str, Any]:
    """Writes the links of a local corpus; returns their manifest entry."""
    table = block_table.BlockTable(corpus_dir, {})
    folder = os.path.join(corpus_dir, _FOLDER)
    os.makedirs(folder)
    if self.kind == names.MARKUP:
      titles = table.all_titles()
      named = zip(table.all_article_ids(), titles)
      keys = np.array([_key(*pair) for pair in named], np.uint64)
      pairs = {}
      for name in _NAMED:  # Sorted and without repeats, uint64 [n, 2].
        new = np.frombuffer(self._new[name], np.uint64).reshape(-1, 2)
        pairs[name] = np.unique(np.concatenate([self._old[name], new]), axis=0)
      pairs['named'] = pairs['named'][np.isin(pairs['named'][:, 0], keys)]
      for name in _NAMED:
        np.save(os.path.join(folder, f'{name}.npy'), pairs[name])
      edges = join(
        keys,
        np.array([_title_hash(title) for title in titles], np.uint64),
        pairs['named'],
        pairs['redirects'],
      )
    else:
      edges = title_edges(table)
    graph = graph_of(*edges, table.num_articles)
    path = os.path.join(folder, 'targets')
    np.save(f'{path}.npy', graph.indices.astype(np.int32))
    np.save(f'{path}.offsets.npy', graph.indptr.astype(np.int64))
    return {'kind': self.kind, 'number': graph.nnz}


def join(
  keys: np.ndarray, titles: np.ndarray, links: np.ndarray, redirects: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns (origins, targets) between A articles, int64 [E]; -1 for none.

  Args:
    keys: Hash of each article, uint64 [A].
    titles: Hash of each article's title, uint64 [A].
    links: (key, title), uint64 [E, 2].
    redirects: (title, title), uint64 [R, 2], sorted.
  """
  # Of several articles with one title, links lead to the first.
  goals = block_table.find_hashes(links[:, 1], titles)
  lost = np.flatnonzero(goals < 0)
  to = block_table.find_sorted(links[lost, 1], redirects[:, 0])
  lost, to = lost[to >= 0], to[to >= 0]
  goals[lost] = block_table.find_hashes(redirects[to, 1], titles)
  return block_table.find_hashes(links[:, 0], keys), goals


def _key(article_id: str, title: str) -> int:
  return block_table.text_hash(f'{article_id}\n{title}')


def _title_hash(title: str) -> int:
  return block_table.text_hash(wikitext.normal_title(title))


def title_edges(table: block_table.BlockTable) -> tuple[np.ndarray, np.ndarray]:
  """Returns (article of a text, article of a title in it), int64 [n] each."""
  titles = _Titles(table.all_titles())
  found = [np.zeros([0, 2], np.int64)]
  for start in range(0, table.num_blocks, _BATCH_BLOCKS):
    ids = range(start, min(start + _BATCH_BLOCKS, table.num_blocks))
    pairs = [
      (table.article_rows[i], row)
      for i, text in zip(ids, table.texts(ids))
      for row in titles.find(text)
    ]
    # A title often occurs many times in a text.
    found.append(np.unique(np.reshape(pairs, [-1, 2]), axis=0))
  origins, targets = np.concatenate(found).astype(np.int64).T
  return origins, targets


class _Titles:
  """Titles, and the widths of the titles that begin with each word."""

  def __init__(self, titles: list[str]):
    self._rows: dict[str, int] = {}
    self._widths: dict[str, tuple[int, ...]] = {}  # By first word.
    for row, title in enumerate(titles):
      words = list(_WORD.finditer(title))
      # The words must reach from the first character to the last.
      if not 0 < len(words) <= _MAX_WORDS or (
        (words[0].start(), words[-1].end()) != (0, len(title))
      ):
        continue
      self._rows.setdefault(title, row)
      widths = {len(words), *self._widths.get(words[0][0], ())}
      self._widths[words[0][0]] = tuple(sorted(widths))

  def find(self, text: str) -> Iterator[int]:
    """Yields the row of each title in `text`, the longest titles first."""
    words = list(_WORD.finditer(text))
    found = []  # Minus the width, first word, row.
    for first, word in enumerate(words):
      for width in self._widths.get(word[0], ()):
        if first + width <= len(words):
          name = text[word.start() : words[first + width - 1].end()]
          if name in self._rows:
            found.append((-width, first, self._rows[name]))
    taken = set()
    for width, first, row in sorted(found):
      places = range(first, first - width)
      if taken.isdisjoint(places):
        taken.update(places)
        yield row
