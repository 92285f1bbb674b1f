"""Links to the articles whose titles a text contains, where none are written.

  titles, texts -> hashes of runs of words -> [this file] -> links between rows

The hash of any run of words follows from sums over its batch of texts, so a
batch is compared with all titles in a few array operations.
"""

import functools
import sys

import numpy as np

from realm_tf.records import block_table

_MAX_WORDS = 8  # Longer titles are not looked for.
_BATCH_CHARACTERS = 2_000_000
_BATCH_TITLES = 100_000
_BASE = np.uint64(0x9E3779B97F4A7C15)  # Odd, so it has an inverse mod 2^64.
_INVERSE = np.uint64(pow(int(_BASE), -1, 1 << 64))


def edges(table: block_table.BlockTable) -> tuple[np.ndarray, np.ndarray]:
  """Returns (article of a text, article of a title in it), int64 [n] each.

  Titles are found as they are written, case included, as whole words. They
  begin and end with a letter or digit. Where titles overlap, the longer counts,
  then the earlier. Of several articles of a title the first is meant.
  """
  titles = _Titles(table.all_titles())
  found = [np.zeros([2, 0], np.int64)]
  start = 0
  while start < table.num_blocks:
    texts, ids = [], range(start, min(start + 1024, table.num_blocks))
    num_characters = 0
    for text in table.texts(ids):
      texts.append(text)
      num_characters += len(text)
      if num_characters > _BATCH_CHARACTERS:
        break
    block, row = titles.find(texts)
    article = table.article_rows[start + block]
    # A title often stands many times in a text.
    found.append(np.unique(np.stack([article, row]).astype(np.int64), axis=1))
    start += len(texts)
  return tuple(np.concatenate(found, axis=1))


class _Titles:
  """Titles by their number of words, as sorted hashes."""

  def __init__(self, titles):
    batches = [
      (np.int64(start), *self._hash(titles[start : start + _BATCH_TITLES]))
      for start in range(0, len(titles), _BATCH_TITLES)
    ]
    rows = np.concatenate([start + usable for start, usable, _, _ in batches])
    numbers, hashes = (
      np.concatenate([batch[i] for batch in batches]) for i in (2, 3)
    )
    self._known = {}
    for width in np.unique(numbers)[::-1].tolist():
      of_width = numbers == width
      values, places = np.unique(hashes[of_width], return_index=True)
      self._known[width] = values, rows[of_width][places]

  def _hash(self, titles):
    """Returns usable titles' places, numbers of words and hashes."""
    text = _Hashed(titles)
    first = np.searchsorted(text.starts, text.begins[:-1])
    last = np.searchsorted(text.starts, text.begins[1:] - 1) - 1
    number = last - first + 1
    usable = np.flatnonzero((number > 0) & (number <= _MAX_WORDS))
    # The words must reach from the title's first character to its last.
    whole = text.starts[first[usable]] == text.begins[usable]
    whole &= text.stops[last[usable]] == text.begins[usable + 1] - 1
    usable = usable[whole]
    hashes = text.runs(first[usable], last[usable])
    return usable, number[usable], hashes

  def find(self, texts):
    """Returns (number of the text, row of the title) of each title found."""
    text = _Hashed(texts)
    free = np.ones(len(text.starts), bool)
    found = [np.zeros([2, 0], np.int64)]
    for width, (known, rows) in self._known.items():
      first = np.arange(len(text.starts) - width + 1)
      first = first[_sums(free, width) == width]
      hashes = text.runs(first, first + width - 1)
      places = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
      is_title = known[places] == hashes
      first, places = first[is_title], places[is_title]
      kept = _apart(first, width)
      first, places = first[kept], places[kept]
      free[(first[:, None] + np.arange(width)).ravel()] = False
      number = np.searchsorted(text.begins, text.starts[first], 'right') - 1
      found.append(np.stack([number, rows[places]]))
    return np.concatenate(found, axis=1)


class _Hashed:
  """Texts end to end, with a character between them that is in no title.

  Attributes:
    begins: First character of each text, int64 [number + 1].
    starts: First character of each word.
    stops: Character behind each word.
  """

  def __init__(self, texts):
    lengths = np.array([len(text) for text in texts], np.int64)
    self.begins = np.concatenate([[0], np.cumsum(lengths + 1)])
    joined = '\0'.join([*texts, '']).encode('utf-32-le', 'replace')
    characters = np.frombuffer(joined, np.uint32)
    is_word = np.concatenate([[False], _is_word()[characters]])
    change = np.flatnonzero(np.diff(is_word))
    self.starts, self.stops = change[::2], change[1::2]
    powers = _powers(len(characters) + 1, _BASE)
    self._unpowers = _powers(len(characters) + 1, _INVERSE)
    sums = np.cumsum(characters * powers[:-1], dtype=np.uint64)
    self._sums = np.concatenate([np.zeros(1, np.uint64), sums])

  def runs(self, first, last):
    """Returns the hashes of words first..last, each int [n], uint64 [n]."""
    starts = self.starts[first]
    sums = self._sums[self.stops[last]] - self._sums[starts]
    return sums * self._unpowers[starts]


def _apart(first, width):
  """Returns which runs of `width` words to keep so that none overlap."""
  kept = np.ones(len(first), bool)
  near = np.flatnonzero(np.diff(first) < width)
  for i in (near + 1).tolist():  # Few: titles of several words that overlap.
    before = i - 1
    while before >= 0 and first[i] - first[before] < width:
      if kept[before]:
        kept[i] = False
        break
      before -= 1
  return kept


def _sums(free, width):
  """Returns the number of free words in each run of `width` words."""
  total = np.concatenate([[0], np.cumsum(free)])
  return total[width:] - total[:-width]


def _powers(number, base):
  """Returns base^0, base^1, ... modulo 2^64, uint64 [number]."""
  result = np.full(number, base, np.uint64)
  result[:1] = 1
  return np.cumprod(result, dtype=np.uint64)


@functools.cache
def _is_word():
  """Returns whether each code point is a letter or digit, bool [1114112]."""
  return np.array([chr(i).isalnum() for i in range(sys.maxunicode + 1)])
