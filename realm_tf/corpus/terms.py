"""Finds and tags terms of a text: spans of one to four words worth looking up.

  articles -> counts of all spans -> scores of the terms -> terms of each text

A term comes again in other documents and is rare elsewhere, as a recurring span
of Spider (Ram et al. 2022). Its words belong together more than chance would
have it (PMI-Masking, Levine et al. 2021), and it gathers in few documents
(residual IDF: Church and Gale 1995; Yamamoto and Church 2001), a mark of an
important term. Case and language do not matter, because only counts decide.
"""

import array
from collections.abc import Iterable, Iterator, Sequence
import re
from typing import NamedTuple

import numpy as np

from realm_tf import interfaces
from realm_tf.text import english
from realm_tf.text import plain_letters

_LONGEST = 4  # Words of a span.
# Thai, Lao, Burmese, Khmer, Japanese and Chinese: each character is a word.
_UNSPACED = (
  '\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff'
)  # fmt: skip
_GENITIVES = "'s", '’s'
# A word, or a mark or a line break that no span goes beyond.
_TOKEN = re.compile(
  rf"['’][sS]\b|[{_UNSPACED}]|"
  rf"[^\W_{_UNSPACED}]+(?:(?:[-'’](?![sS]\b)|(?<=\d)[.,](?=\d))[^\W_{_UNSPACED}]+)*|[^\w\s]|\n"
)
ONE_WORD = re.compile(rf'[{_UNSPACED}]|[^\W_{_UNSPACED}]+')
_LETTER = re.compile(r'[^\W\d]')
_FEWEST_ARTICLES = 100  # Of fewer articles, blocks are the documents.
_MOST_DOCUMENTS = 0.05  # Share of the documents that may have a term.
_LOWEST_PMI = 2.0  # A phrase is e^2 = 7 times as frequent as by chance.
_HIGHEST_PMI = 8.0  # Larger ones come from small counts.
_LOWEST_SCORE = 0.65
# A common word is no term, and begins or ends none: words of these shares of
# the documents, if their residual IDF is below, which few documents cannot say.
_COMMON = ((0.01, 0.1), (0.1, 0.29))
_FEWEST_COMMON = 20  # Documents; half of them, if there are fewer than 40.
_FUNCTION_WORDS = frozenset((*english.WORDS['lower words'], *_GENITIVES))
_MOST_SPANS = 3  # Of a tagged text.


class Terms(NamedTuple):
  """Terms, and the spans that begin them, by their number of words.

  Attributes:
    words: Words of at least two documents, lower case; a word's number is its
      place.
    keys: Spans of n = 2, 3, 4 words, sorted int64: the number of the first
      n - 1 words, times the number of words, plus the number of the last word.
    scores: Score of each span of n = 1, 2, 3, 4 words, float32; -inf if it is
      no term.
  """

  words: list[str]
  keys: list[np.ndarray]
  scores: list[np.ndarray]


class Level(NamedTuple):
  """Spans of n words that at least two documents have.

  Attributes:
    keys: As in `Terms`.
    firsts: Place of the first one of each.
    counts: Occurrences c.
    documents: Documents d that have it.
    places: Number of the span at each place of the text, or -1.
  """

  keys: np.ndarray
  firsts: np.ndarray
  counts: np.ndarray
  documents: np.ndarray
  places: np.ndarray


class Counts(NamedTuple):
  """Counts of a text.

  Attributes:
    words: As in `Terms`.
    levels: Spans of n = 1, 2, 3, 4 words.
    num_words: Words of the text, N.
    num_documents: Documents, D: articles, or blocks if there are few articles.
  """

  words: list[str]
  levels: list[Level]
  num_words: int
  num_documents: int


def find(articles: Iterable[Sequence[str]]) -> Terms:
  """Returns the terms of articles, each a list of its blocks, by one pass."""
  counts = count(articles)
  keys = [level.keys for level in counts.levels[1:]]
  return Terms(counts.words, keys, _score(counts))


def count(articles: Iterable[Sequence[str]]) -> Counts:
  """Counts the spans of articles, each a list of its blocks."""
  numbers, codes, documents, num_documents = _read(articles)
  vocabulary = np.array([*numbers, ''], object)[:-1]
  is_word = np.array([w[0].isalnum() or w in _GENITIVES for w in numbers])
  keys = np.where(is_word[codes], codes, -1).astype(np.int64)
  levels = [_count(keys, documents)]
  words = vocabulary[levels[0].keys].tolist()
  num_words = int(np.sum(keys >= 0))
  for size in range(2, _LONGEST + 1):
    before = levels[-1].places
    # A span can only recur if it recurs without its first, and its last word.
    at = np.flatnonzero((before[:-1] >= 0) & (before[1:] >= 0))
    keys = np.full(len(before), -1, np.int64)
    keys[at] = before[at].astype(np.int64) * len(words)
    keys[at] += levels[0].places[at + size - 1]
    levels.append(_count(keys, documents))
  return Counts(words, levels, num_words, num_documents)


def _read(
  articles: Iterable[Sequence[str]],
) -> tuple[dict[str, int], np.ndarray, np.ndarray, int]:
  """Returns number of each token, tokens, their documents, and how many."""
  numbers = {'\n': 0}
  codes = array.array('i')
  sizes, rows = array.array('q'), array.array('q')  # Of each block.
  number = 0
  for number, blocks in enumerate(articles, 1):
    for text in blocks:
      found = _TOKEN.findall(plain_letters.write(text).text.lower())
      codes.extend([numbers.setdefault(word, len(numbers)) for word in found])
      codes.append(0)
      sizes.append(len(found) + 1)
      rows.append(number)
  is_few = number < _FEWEST_ARTICLES
  documents = np.arange(len(sizes)) if is_few else np.array(rows)
  return (
    numbers,
    np.array(codes, np.int32),
    np.repeat(documents, sizes).astype(np.int32),
    len(sizes) if is_few else number,
  )


def _count(keys: np.ndarray, documents: np.ndarray) -> Level:
  """Returns the spans that recur; `keys` has one for each place, or -1."""
  at = np.flatnonzero(keys >= 0)
  order = at[np.argsort(keys[at], kind='stable')]
  found, where = keys[order], documents[order]
  is_new = np.diff(found, prepend=-1) != 0
  is_other = is_new | (np.diff(where, prepend=-1) != 0)
  group = np.cumsum(is_new) - 1
  spread = np.bincount(group[is_other])
  recurs = spread >= 2
  number = np.where(recurs, np.cumsum(recurs) - 1, -1)
  places = np.full(len(keys), -1, np.int32)
  places[order] = number[group]
  return Level(
    found[is_new][recurs],
    order[is_new][recurs],
    np.bincount(group)[recurs],
    spread[recurs],
    places,
  )


def _score(counts: Counts) -> list[np.ndarray]:
  """Returns the scores of the spans of each level."""
  words, levels = counts.words, counts.levels
  number = max(counts.num_documents, 2)
  residuals = [residual_idf(level, number) for level in levels]
  is_common = _are_common(words, levels[0].documents, residuals[0], number)
  is_numeral = np.array([not _LETTER.search(word) for word in words], bool)
  singles = levels[0].places
  most = max(3, _MOST_DOCUMENTS * number)
  scores = []
  for size, (level, pmi) in enumerate(zip(levels, pmi_of(counts)), 1):
    parts = singles[level.firsts[:, None] + np.arange(size)]  # [spans, size]
    score = residuals[size - 1] + 0.1 * np.minimum(pmi, _HIGHEST_PMI)
    score += 0.7 * np.log(number / level.documents) / np.log(number)
    score -= 0.3 * is_common[parts].sum(axis=1)
    is_term = (level.documents <= most) & (score >= _LOWEST_SCORE)
    is_term &= ~(is_common[parts[:, 0]] | is_common[parts[:, -1]])
    is_term &= ~is_numeral[parts].all(axis=1)
    if size == 1:
      is_term &= np.array([len(word) > 1 for word in words], bool)
    else:
      is_term &= pmi >= _LOWEST_PMI
    scores.append(np.where(is_term, score, -np.inf).astype(np.float32))
  return scores


def residual_idf(level: Level, number: int) -> np.ndarray:
  """Returns ln((e + 1) / (d + 1)) of spans in `number` D documents, float64.

  e = D (1 - exp(-c / D)) documents would have a span, if its c occurrences were
  spread by chance. Deviation from Church and Gale 1995: 1 is added to e and d,
  because few occurrences say little.
  """
  expected = -number * np.expm1(-level.counts / number)
  return np.log((expected + 1) / (level.documents + 1))


def pmi_of(counts: Counts) -> list[np.ndarray]:
  """Returns the pointwise mutual information of the spans of each level.

  Section 3.2 of Levine et al. 2021: min over all cuts of w1 ... wn in two to n
  parts of ln(p(w1 ... wn) / prod p(part)). A single word has 0.
  """
  levels = counts.levels
  result, best = [], []  # best: ln p of the likeliest cut, or of the whole.
  for size, level in enumerate(levels, 1):
    whole = np.log(level.counts / counts.num_words)
    cut = whole if size == 1 else np.full(len(whole), -np.inf)
    for head in range(1, size):
      left = levels[head - 1].places[level.firsts]
      right = levels[size - head - 1].places[level.firsts + head]
      both = best[head - 1][left] + best[size - head - 1][right]
      cut = np.maximum(cut, both)
    result.append(whole - cut)
    best.append(np.maximum(whole, cut))
  return result


def _are_common(
  words: Sequence[str],
  documents: np.ndarray,
  residuals: np.ndarray,
  number: int,
) -> np.ndarray:
  """Returns whether each word is too general to begin a term, bool."""
  result = np.array([word in _FUNCTION_WORDS for word in words], bool)
  for share, residual in _COMMON:
    fewest = max(share * number, min(_FEWEST_COMMON, number / 2))
    result |= (documents >= fewest) & (residuals < residual)
  return result


class TermsTagger:
  """Tags up to three terms of each text, those with the best scores.

  Args:
    first: Tagger of names. A text in which it finds any has no terms: names
      were measured, and train as they do alone.
  """

  def __init__(self, terms: Terms, first: interfaces.Tagger | None = None):
    self._terms, self._first = terms, first
    self._numbers = {word: i for i, word in enumerate(terms.words)}

  def tag(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
    """Returns each text's spans, sorted, without overlaps."""
    result: list[list[tuple[int, int]]] = [[] for _ in texts]
    if self._first:
      result = self._first.tag(texts)
    rows = [row for row, spans in enumerate(result) if not spans]
    plain = [plain_letters.write(texts[row]) for row in rows]
    for place, start, end in self._find([each.text for each in plain]):
      spans = result[rows[place]]
      if len(spans) < _MOST_SPANS:
        ((start, end),) = plain[place].original([(start, end)])
        if all(end <= a or b <= start for a, b in spans):
          spans.append((start, end))
    return [sorted(spans) for spans in result]

  def _find(self, texts: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yields row, start and end of each term, the best of a row first."""
    tokens_of_all = []
    for row, text in enumerate(texts):
      tokens_of_all += [
        (self._numbers.get(m[0].lower(), -1), row, *m.span())
        for m in _TOKEN.finditer(text)
      ]
      tokens_of_all.append((-1, row, 0, 0))  # Ends spans, as a mark does.
    words, rows, starts, ends = (
      np.array(tokens_of_all, np.int64).reshape(-1, 4).T
    )
    found = []
    spans = words  # Number of the span of `size` words at each place, or -1.
    for size, scores in enumerate(self._terms.scores, 1):
      if size > 1:
        spans = self._longer(spans, words, size)
      at = np.flatnonzero(spans >= 0)
      at = at[np.isfinite(scores[spans[at]])]
      # A masked span could be copied from another one in the text.
      keys = rows[at] * len(scores) + spans[at]
      _, place, times = np.unique(keys, return_inverse=True, return_counts=True)
      at = at[times[place] == 1]
      found.append(
        (rows[at], -scores[spans[at]], starts[at], ends[at + size - 1])
      )
    rows, ranks, starts, ends = map(np.concatenate, zip(*found))
    order = np.lexsort((-ends, starts, ranks, rows))
    columns = (column[order].tolist() for column in (rows, starts, ends))
    return zip(*columns, strict=True)

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
