"""Links by title, as their source writes them: 16 bytes each.

A corpus keeps them next to its graph, so links of old articles can lead to
articles that are added later.
"""

import array
from collections.abc import Iterable, Iterator
import os

import numpy as np

from realm_tf.corpus import mediawiki
from realm_tf.corpus import sources
from realm_tf.records import block_table
from realm_tf.records import link_graph
from realm_tf.records import npy_files
from realm_tf.records import text_hashes

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
        new.extend((key, text_hashes.of(title)))
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
  known, rows = np.unique(titles, return_index=True)
  goals = _look_up(links[:, 1], known, rows)
  lost = np.flatnonzero(goals < 0)
  to = _look_up(links[lost, 1], redirects[:, 0], np.arange(len(redirects)))
  lost, to = lost[to >= 0], to[to >= 0]
  goals[lost] = _look_up(redirects[to, 1], known, rows)
  targets, lengths = link_graph.gather(
    goals,
    np.searchsorted(links[:, 0], keys, 'left'),
    np.searchsorted(links[:, 0], keys, 'right'),
  )
  return np.repeat(np.arange(len(keys)), lengths), targets


def _look_up(
  hashes: np.ndarray, known: np.ndarray, values: np.ndarray
) -> np.ndarray:
  """Returns the value of each hash in `known`, which is sorted, or -1."""
  return np.append(values, -1)[block_table.find_sorted(hashes, known)]


def _keys(table: block_table.BlockTable) -> np.ndarray:
  pairs = zip(table.all_article_ids(), table.all_titles())
  return np.array([_key(*pair) for pair in pairs], np.uint64)


def _key(article_id: str, title: str) -> int:
  return text_hashes.of(f'{article_id}\n{title}')


def _title_hash(title: str) -> int:
  return text_hashes.of(mediawiki.normal_title(title))
