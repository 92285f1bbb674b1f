"""Links from texts to the articles with titles in them, for unlinked corpora.

Titles match whole words, case included; they must begin and end with a letter
or digit. Of overlapping titles the longest counts, then the first. Of several
articles with one title the first counts.
"""

from collections.abc import Iterator
import re

import numpy as np

from realm_tf.records import block_table

_MAX_WORDS = 8  # Longer titles get no links.
_BATCH_BLOCKS = 1024
_WORD = re.compile(r'[^\W_]+')


def edges(table: block_table.BlockTable) -> tuple[np.ndarray, np.ndarray]:
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
