"""Links between the articles of a corpus, as a compressed sparse row graph.

  links/targets.npy          int32, targets of each article's links
  links/targets.offsets.npy  int64, where each article's targets begin

Articles are numbered by their rows in `block_table.BlockTable`.
"""

import os
from typing import Any

import numpy as np

from realm_tf import errors
from realm_tf.data import columns

FOLDER = 'links'
_NAME = 'targets'


class LinkGraph:
  """E links between A articles.

  Args:
    targets: int32 [E], ascending within an article, without repeats.
    offsets: Where each article's targets begin, int64 [A + 1].
  """

  def __init__(self, targets: np.ndarray, offsets: np.ndarray):
    self.targets = targets
    self.offsets = offsets

  @classmethod
  def open(
    cls, corpus_dir: str, manifest: dict[str, Any], num_articles: int
  ) -> 'LinkGraph':
    """Opens the links of a corpus, memory-mapped; UserError without links."""
    if not manifest.get('links'):
      raise errors.UserError(
        f'A corpus must hold links between its articles. Found none in '
        f'{corpus_dir}. Make it again with bin.make_blocks --links=markup or '
        '--links=titles.'
      )
    column = columns.Rows.open(
      os.path.join(corpus_dir, FOLDER),
      _NAME,
      np.int32,
      num_articles,
      num_articles,
    )
    return cls(column.values, column.offsets)

  @classmethod
  def from_edges(
    cls, origins: np.ndarray, targets: np.ndarray, num_articles: int
  ) -> 'LinkGraph':
    """Returns the graph without repeats, loops and negative targets."""
    kept = (targets >= 0) & (targets != origins)
    # One number per link sorts ten times as fast as pairs.
    codes = origins[kept].astype(np.int64)
    codes *= num_articles
    codes += targets[kept]
    codes.sort()
    is_first = np.ones(len(codes), bool)
    np.not_equal(codes[1:], codes[:-1], out=is_first[1:])
    codes = codes[is_first]
    rows = np.arange(num_articles + 1, dtype=np.int64)
    offsets = np.searchsorted(codes, rows * num_articles)
    codes %= max(num_articles, 1)
    return cls(codes.astype(np.int32), offsets.astype(np.int64))

  def transposed(self) -> 'LinkGraph':
    """Returns the graph with all links reversed."""
    num = len(self.offsets) - 1
    origins = np.repeat(np.arange(num, dtype=np.int32), np.diff(self.offsets))
    # A stable sort keeps the origins of an article ascending.
    order = np.argsort(self.targets, kind='stable')
    counts = np.bincount(self.targets, minlength=num)
    return LinkGraph(origins[order], np.concatenate([[0], np.cumsum(counts)]))

  def save(self, corpus_dir: str) -> None:
    path = os.path.join(corpus_dir, FOLDER)
    os.makedirs(path, exist_ok=True)
    np.save(os.path.join(path, f'{_NAME}.npy'), self.targets)
    np.save(os.path.join(path, f'{_NAME}.offsets.npy'), self.offsets)


def gather(
  values: np.ndarray, starts: np.ndarray, stops: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
  """Returns the slices values[start:stop] end to end, and their lengths."""
  lengths = stops - starts
  ends = np.cumsum(lengths)
  places = np.arange(ends[-1] if len(ends) else 0)
  places += np.repeat(starts - (ends - lengths), lengths)
  return values[places], lengths
