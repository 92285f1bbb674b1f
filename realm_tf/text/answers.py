"""Rules by which an answer is right, and by which a block holds an answer.

* Exact match and F1 compare normalized strings as ORQA does (Lee et al. 2019):
  SQuAD's rule after Unicode decomposition, which deletes ASCII punctuation.
* A block holds an answer if it has the answer's words in a row. Punctuation
  separates words, as in DPR's has_answer: deleting it would make "New
  York-based" "new yorkbased", and 1.8 % of SQuAD's own paragraphs would lack
  their answer (0.2 % with this rule).

Training matches plain answers as ORQA does, wordpiece by wordpiece
(`records.answer_spans`), because the reader learns spans of wordpieces. There,
"the Louvre" is not "a Louvre", and "Israel" is in "Israeli" (israel, ##i).
"""

import collections
from collections.abc import Callable, Sequence
import functools
import re
import string

import numpy as np

from realm_tf.text import normal_forms
from realm_tf.text import timed_pattern

_ARTICLES = re.compile(r'\b(a|an|the)\b')
_WORD = re.compile(r'[^\W_]+')
_DROPPED = ('a', 'an', 'the')
_DELETE_PUNCTUATION = str.maketrans('', '', string.punctuation)


def normalize_answer(text: str) -> str:
  """Decomposes (NFD), lower-cases, drops ASCII punctuation, a, an and the."""
  text = normal_forms.normalize('NFD', text).lower()
  text = _ARTICLES.sub(' ', text.translate(_DELETE_PUNCTUATION))
  return ' '.join(text.split())


def exact_match(
  prediction: str, answers: Sequence[str], regex: bool = False
) -> bool:
  """Returns whether the prediction equals any of the answers.

  Args:
    regex: Whether the answers are regular expressions (CuratedTREC). Like DrQA
      and ORQA, they are matched with the start of the raw prediction, in any
      case. A match that takes too long fails.
  """
  if regex:
    return any(_compile(a).matches_start(prediction) for a in answers)
  normalized = normalize_answer(prediction)
  return any(normalized == normalize_answer(answer) for answer in answers)


def f1(prediction: str, answers: Sequence[str]) -> float:
  """Returns SQuAD's word-overlap F1, in [0, 1], of the best reference."""
  return max((_f1(prediction, answer) for answer in answers), default=0.0)


def contains_answer(
  text: str, answers: Sequence[str], regex: bool = False
) -> bool:
  """Returns whether any answer occurs in `text`.

  Args:
    regex: Whether the answers are regular expressions, to search in the raw
      text in any case. Otherwise an answer's words must occur in a row, in any
      case, with any punctuation and a, an or the between.
  """
  return _contains(_searchable(text, regex), answers, regex)


def find_matches(text: str, patterns: Sequence[str]) -> list[tuple[int, int]]:
  """Returns the distinct (start, end) of all matches, sorted, in characters."""
  return sorted({span for p in patterns for span in _compile(p).spans(text)})


class AnswerMatcher:
  """Finds blocks that hold an answer, and caches the words of blocks.

  Questions retrieve the same blocks: with the cache, 10,000 questions with 20
  blocks each take seconds rather than minutes.

  Args:
    read_texts: Maps block ids to the blocks' texts.
    max_cached: Size at which the cache is emptied.
  """

  def __init__(
    self,
    read_texts: Callable[[Sequence[int]], Sequence[str]],
    max_cached: int = 200_000,
  ):
    self._read_texts = read_texts
    self._max_cached = max_cached
    self._texts: dict[tuple[int, bool], str] = {}

  def matches(
    self,
    block_ids: np.ndarray,
    answers: Sequence[Sequence[str]],
    regexes: Sequence[bool],
  ) -> np.ndarray:
    """Returns which of each question's blocks hold one of its answers.

    Args:
      block_ids: int [B, K]; negative ids are no block.
      answers: Answers of each of B questions.
      regexes: Whether these are regular expressions, B values.

    Returns:
      bool [B, K].
    """
    found = np.zeros(block_ids.shape, bool)
    for row, (ids, regex) in enumerate(zip(block_ids, regexes, strict=True)):
      columns = np.flatnonzero(ids >= 0)
      texts = self._searchable_texts(ids[columns].tolist(), regex)
      found[row, columns] = [_contains(t, answers[row], regex) for t in texts]
    return found

  def _searchable_texts(self, ids: Sequence[int], regex: bool) -> list[str]:
    missing = [i for i in dict.fromkeys(ids) if (i, regex) not in self._texts]
    if missing and len(self._texts) + len(missing) > self._max_cached:
      self._texts.clear()
      missing = list(dict.fromkeys(ids))
    texts = self._read_texts(missing) if missing else ()
    for i, text in zip(missing, texts):
      self._texts[i, regex] = _searchable(text, regex)
    return [self._texts[i, regex] for i in ids]


def _searchable(text: str, regex: bool) -> str:
  return text if regex else _spaced_words(text)


def _contains(searchable: str, answers: Sequence[str], regex: bool) -> bool:
  if regex:
    return any(_compile(a).occurs(searchable) for a in answers)
  return any(
    words in searchable
    for words in map(_spaced_answer, answers)
    if words.strip()
  )


def _spaced_words(text: str) -> str:
  """Returns all words but a, an and the, with single spaces around each."""
  # NFC, so that an accent does not end a word.
  words = _WORD.findall(normal_forms.normalize('NFC', text).lower())
  return f' {" ".join(word for word in words if word not in _DROPPED)} '


_spaced_answer = functools.lru_cache(maxsize=100_000)(_spaced_words)


@functools.lru_cache(maxsize=10_000)
def _compile(pattern: str) -> timed_pattern.TimedPattern:
  return timed_pattern.TimedPattern(pattern)


def _f1(prediction: str, answer: str) -> float:
  predicted = normalize_answer(prediction).split()
  expected = normalize_answer(answer).split()
  shared = collections.Counter(predicted) & collections.Counter(expected)
  common = shared.total()
  if not common:
    return float(predicted == expected)  # Both empty: equal.
  return 2 * common / (len(predicted) + len(expected))
