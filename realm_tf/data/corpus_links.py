"""Makes the links/ of a new corpus, from its source or by titles."""

import array
from collections.abc import Iterable, Iterator
import os
import re
from typing import Any, Optional

import numpy as np

from realm_tf.config import names
from realm_tf.corpus import sources
from realm_tf.corpus import wikitext
from realm_tf.data import block_table
from realm_tf.data import encoded_blocks
from realm_tf.data import link_graph
from realm_tf.data import npy_files

_FILES = ('named', 'redirects')
_NONE = np.zeros([0, 2], np.uint64)


class NamedLinks:
  """Links (article, title) and redirects (title, title), uint64 [n, 2] each.

  All are hashes: of ten million titles, some two collide with a probability of
  1 in 400,000.
  """

  def __init__(self, links: np.ndarray = _NONE, redirects: np.ndarray = _NONE):
    self._pairs = {'named': links, 'redirects': redirects}
    self._new = {name: array.array('Q') for name in _FILES}

  @classmethod
  def open(cls, corpus_dir: str) -> 'NamedLinks':
    folder = os.path.join(corpus_dir, link_graph.FOLDER)
    paths = (os.path.join(folder, f'{name}.npy') for name in _FILES)
    return cls(
      *(npy_files.open_array(path, np.uint64, [None, 2]) for path in paths)
    )

  def noting(
    self, articles: Iterable[sources.Article]
  ) -> Iterator[sources.Article]:
    """Yields the articles, and notes their links."""
    for article in articles:
      key = _key(article.article_id, article.title)
      new = self._new['named']
      for title in dict.fromkeys(sources.linked_titles(article)):
        new.extend((key, encoded_blocks.of(title)))
      yield article

  def add_redirect(self, title: str, goal: str) -> None:
    """Makes links to `title` lead to `goal`."""
    self._new['redirects'].extend(map(_title_hash, (title, goal)))

  def save(self, corpus_dir: str, table: block_table.BlockTable) -> None:
    """Writes the links of the table's articles, and all redirects."""
    folder = os.path.join(corpus_dir, link_graph.FOLDER)
    os.makedirs(folder, exist_ok=True)
    links = self._all('named')
    links = links[np.isin(links[:, 0], _keys(table))]
    np.save(os.path.join(folder, 'named.npy'), links)
    np.save(os.path.join(folder, 'redirects.npy'), self._all('redirects'))

  def edges(
    self, table: block_table.BlockTable
  ) -> tuple[np.ndarray, np.ndarray]:
    """Returns (origins, targets) of the links between rows, like `join`."""
    titles = [_title_hash(title) for title in table.all_titles()]
    return join(
      _keys(table),
      np.array(titles, np.uint64),
      self._all('named'),
      self._all('redirects'),
    )

  def _all(self, name: str) -> np.ndarray:
    """Returns all pairs, sorted and without repeats, uint64 [n, 2]."""
    new = np.frombuffer(self._new[name], np.uint64).reshape(-1, 2)
    pairs = np.concatenate([self._pairs[name], new])
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    is_first = np.ones(len(pairs), bool)
    is_first[1:] = (pairs[1:] != pairs[:-1]).any(axis=1)
    return pairs[is_first]


def join(
  keys: np.ndarray, titles: np.ndarray, links: np.ndarray, redirects: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns (origins, targets) between A articles, int64 [n]; -1: no target.

  Args:
    keys: Hash of each article, uint64 [A].
    titles: Hash of each article's title, uint64 [A].
    links: (key, title), uint64 [E, 2], sorted.
    redirects: (title, title), uint64 [R, 2], sorted.
  """
  # Of several articles with one title, links lead to the first.
  goals = block_table.find_hashes(links[:, 1], titles)
  lost = np.flatnonzero(goals < 0)
  to = block_table.find_sorted(links[lost, 1], redirects[:, 0])
  lost, to = lost[to >= 0], to[to >= 0]
  goals[lost] = block_table.find_hashes(redirects[to, 1], titles)
  targets, lengths = link_graph.gather(
    goals,
    np.searchsorted(links[:, 0], keys, 'left'),
    np.searchsorted(links[:, 0], keys, 'right'),
  )
  return np.repeat(np.arange(len(keys)), lengths), targets


def _keys(table: block_table.BlockTable) -> np.ndarray:
  pairs = zip(table.all_article_ids(), table.all_titles())
  return np.array([_key(*pair) for pair in pairs], np.uint64)


def _key(article_id: str, title: str) -> int:
  return encoded_blocks.of(f'{article_id}\n{title}')


def _title_hash(title: str) -> int:
  return encoded_blocks.of(wikitext.normal_title(title))


_MAX_WORDS = 8  # Longer titles get no links.
_BATCH_BLOCKS = 1024
_WORD = re.compile(r'[^\W_]+')


def title_edges(table: block_table.BlockTable) -> tuple[np.ndarray, np.ndarray]:
  """Returns (article of a text, article of a title in it), int64 [n] each."""
  titles = _Titles(table.all_titles())
  found = [np.zeros([2, 0], np.int64)]
  for start in range(0, table.num_blocks, _BATCH_BLOCKS):
    ids = range(start, min(start + _BATCH_BLOCKS, table.num_blocks))
    pairs = [
      (table.article_rows[i], row)
      for i, text in zip(ids, table.texts(ids))
      for row in titles.find(text)
    ]
    # A title often occurs many times in a text.
    pairs = np.array(pairs, np.int64).reshape(-1, 2)
    found.append(np.unique(pairs, axis=0).T)
  return tuple(np.concatenate(found, axis=1))


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
    """Yields the row of each title in `text`."""
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


class CorpusLinks:
  """Finds the links of a corpus and writes them.

  Args:
    kind: One of `names.LINKS`.
    named: Links of the old articles of a corpus that grows.
  """

  def __init__(self, kind: str, named: Optional[NamedLinks] = None):
    self.kind = kind
    self.named = named or NamedLinks()

  @classmethod
  def of_corpus(
    cls, corpus_dir: str, manifest: dict[str, Any]
  ) -> Optional['CorpusLinks']:
    """Returns the links to extend for a larger corpus; None if it has none."""
    if not manifest.get('links'):
      return None
    kind = manifest['links']['kind']
    named = NamedLinks.open(corpus_dir) if kind == names.MARKUP else None
    return cls(kind, named)

  def noting(
    self, articles: Iterable[sources.Article]
  ) -> Iterable[sources.Article]:
    """Returns the new articles, and notes the links of each that is read."""
    return (
      self.named.noting(articles) if self.kind == names.MARKUP else articles
    )

  def write(self, corpus_dir: str) -> dict[str, Any]:
    """Writes the links of a local corpus; returns their manifest entry."""
    table = block_table.BlockTable(corpus_dir, {})
    if self.kind == names.MARKUP:
      self.named.save(corpus_dir, table)
      edges = self.named.edges(table)
    else:
      edges = title_edges(table)
    graph = link_graph.LinkGraph.from_edges(*edges, table.num_articles)
    graph.save(corpus_dir)
    return {'kind': self.kind, 'number': len(graph.targets)}
