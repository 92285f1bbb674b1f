"""Tags the terms of a text, by the scores of `terms`."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import numpy as np

from realm_tf.corpus import salient_spans
from realm_tf.corpus import terms as terms_lib
from realm_tf.text import plain_letters

_MOST_SPANS = 3


class _Words(NamedTuple):
  """Words and marks of all texts, and a mark after each text; arrays.

  Attributes:
    numbers: Number in `Terms.words`, or -1.
    rows: Index of the text.
    starts: First character in the text.
    ends: End, in characters.
  """

  numbers: np.ndarray
  rows: np.ndarray
  starts: np.ndarray
  ends: np.ndarray


class TermsTagger:
  """Tags up to three terms of each text, those with the best scores.

  Args:
    first: Tagger of names. A text in which it finds any has no terms: names
      were measured, and train as they do alone.
  """

  def __init__(
    self, terms: terms_lib.Terms, first: Optional[salient_spans.Tagger] = None
  ):
    self._terms, self._first = terms, first
    self._numbers = {word: i for i, word in enumerate(terms.words)}

  def tag(self, texts: Sequence[str]) -> list[dict[tuple[int, int], str]]:
    """Returns each text's spans, sorted, without overlaps, and their kinds."""
    result: list[dict[tuple[int, int], str]] = [{} for _ in texts]
    if self._first:
      result = [*map(salient_spans.with_kinds, self._first.tag(texts))]
    rows = [row for row, spans in enumerate(result) if not spans]
    plain = [plain_letters.write(texts[row]) for row in rows]
    for place, start, end, kind in self._find([each.text for each in plain]):
      spans = result[rows[place]]
      if len(spans) < _MOST_SPANS:
        ((start, end),) = plain[place].original([(start, end)])
        if all(end <= a or b <= start for a, b in spans):
          spans[start, end] = terms_lib.KINDS[kind]
    return [dict(sorted(spans.items())) for spans in result]

  def _find(self, texts: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yields row, start, end and kind of each term, the best of a row first."""
    words = self._words(texts)
    found = []
    spans = words.numbers
    for size, (scores, kinds) in enumerate(
      zip(self._terms.scores, self._terms.kinds, strict=True), 1
    ):
      if size > 1:
        spans = self._longer(spans, words.numbers, size)
      at = np.flatnonzero(spans >= 0)
      at = at[np.isfinite(scores[spans[at]])]
      at = _only_ones(at, spans[at], words.rows[at])
      ends = words.ends[at + size - 1]
      row, number = words.rows[at], spans[at]
      found.append(
        (row, -scores[number], words.starts[at], ends, kinds[number])
      )
    rows, ranks, starts, ends, kinds = map(np.concatenate, zip(*found))
    order = np.lexsort((-ends, starts, ranks, rows))
    columns = (column[order].tolist() for column in (rows, starts, ends, kinds))
    return zip(*columns, strict=True)

  def _words(self, texts: Sequence[str]) -> _Words:
    found = []
    for row, text in enumerate(texts):
      found += [
        (self._numbers.get(word, -1), row, start, end)
        for word, start, end in terms_lib.tokens(text)
      ]
      found.append((-1, row, 0, 0))
    return _Words(*np.array(found, np.int64).reshape(-1, 4).T)

  def _longer(
    self, spans: np.ndarray, words: np.ndarray, size: int
  ) -> np.ndarray:
    """Returns the number of the span of `size` words at each place, or -1."""
    result = np.full(len(spans), -1, np.int64)
    keys = self._terms.keys[size - 2]
    # A mark follows each text, so a shorter span is never the last.
    at = np.flatnonzero(spans >= 0)
    last = words[at + size - 1]
    at, last = at[last >= 0], last[last >= 0]
    if len(keys):
      key = spans[at] * len(self._terms.words) + last
      place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
      result[at] = np.where(keys[place] == key, place, -1)
    return result


def _only_ones(
  at: np.ndarray, numbers: np.ndarray, rows: np.ndarray
) -> np.ndarray:
  """Returns the places without spans that their text has twice.

  A masked one could be copied from the other.
  """
  order = np.lexsort((numbers, rows))
  both = np.stack([rows[order], numbers[order]])
  same = (both[:, 1:] == both[:, :-1]).all(axis=0)
  is_twice = np.append(same, False) | np.insert(same, 0, False)
  return np.sort(at[order[~is_twice[: len(at)]]])
