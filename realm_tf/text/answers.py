"""When an answer counts as right, and when a block holds it.

Training (which blocks are positive), evaluation (exact match, recall@k) and
BM25's figures all use this file, so they cannot disagree. It holds two rules.

* Exact match and F1 compare normalized strings as ORQA does (Lee et al. 2019):
  SQuAD's rule after Unicode decomposition, which deletes ASCII punctuation.
* A block holds an answer if it has the answer's words in a row. Here, any
  punctuation separates words, as in DPR's has_answer: deleting it would glue
  "New York-based" to "new yorkbased", and 1.8 % of SQuAD's own paragraphs
  would seem to lack their answer (0.2 % with this rule).
"""

from collections.abc import Callable, Sequence
import functools
import re
import string
import unicodedata

import numpy as np

from realm_tf import errors

_DROPPED = ('a', 'an', 'the')
_ARTICLES = re.compile(rf'\b({"|".join(_DROPPED)})\b')
_DELETE_PUNCTUATION = str.maketrans('', '', string.punctuation)
_WORD = re.compile(r'[^\W_]+')


def normalize_answer(text: str) -> str:
  """Returns `text` as it is compared: NFD, lower case, bare of ballast.

  Args:
    text: Any string.

  Returns:
    The string decomposed (NFD) and lower-cased, with ASCII punctuation
    deleted (not replaced by a space: "U.S." becomes "us"), the words a, an and
    the dropped, and white space folded to single spaces.
  """
  text = unicodedata.normalize('NFD', text).lower()
  text = _ARTICLES.sub(' ', text.translate(_DELETE_PUNCTUATION))
  return ' '.join(text.split())


def exact_match(
  prediction: str, answers: Sequence[str], regex: bool = False
) -> bool:
  """Returns whether the prediction equals any of the answers.

  Args:
    prediction: The model's answer.
    answers: References; any of them will do.
    regex: Whether the references are regular expressions (CuratedTREC). They
      are matched against the raw prediction from its start, in any case, as
      DrQA and ORQA do.
  """
  if regex:
    return any(_compile(a).match(prediction) is not None for a in answers)
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
    text: A block's text.
    answers: References; any of them will do. One without a letter or a digit
      is never found.
    regex: Whether the references are regular expressions, which are searched
      in the raw text, in any case. Otherwise the answer's words must occur in
      a row, whatever their case and the punctuation or a, an, the between.
  """
  return _contains(_searchable(text, regex), answers, regex)


class AnswerMatcher:
  """Says which blocks hold an answer, splitting each block only once.

  Blocks that one question retrieves are retrieved by others too: 10,000
  questions times 20 blocks cost seconds rather than minutes.

  Args:
    read_texts: Maps block ids to the blocks' texts.
    max_cached: Prepared texts that are kept; beyond it, memory is emptied.
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
      block_ids: int [B, K]; negative ids stand for no block.
      answers: B lists of references.
      regexes: Whether they are regular expressions, B values.

    Returns:
      bool [B, K].
    """
    found = np.zeros(block_ids.shape, bool)
    for row, ids in enumerate(block_ids):
      regex = regexes[row]
      columns = np.flatnonzero(ids >= 0)
      texts = self._searchable_texts(ids[columns].tolist(), regex)
      found[row, columns] = [
        _contains(text, answers[row], regex) for text in texts
      ]
    return found

  def _searchable_texts(self, ids: Sequence[int], regex: bool) -> list[str]:
    missing = [i for i in dict.fromkeys(ids) if (i, regex) not in self._texts]
    if missing and len(self._texts) + len(missing) > self._max_cached:
      self._texts.clear()
      missing = list(dict.fromkeys(ids))
    if missing:
      texts = self._read_texts(missing)
      self._texts.update(
        ((i, regex), _searchable(text, regex))
        for i, text in zip(missing, texts)
      )
    return [self._texts[i, regex] for i in ids]


def _searchable(text: str, regex: bool) -> str:
  return text if regex else _spaced_words(text)


def _contains(searchable: str, answers: Sequence[str], regex: bool) -> bool:
  if regex:
    return any(_compile(a).search(searchable) is not None for a in answers)
  return any(
    words in searchable
    for words in map(_spaced_answer, answers)
    if words.strip()
  )


def _spaced_words(text: str) -> str:
  """Returns the words, each with a space before and after it."""
  # Composed, so that an accent does not end a word.
  words = _WORD.findall(unicodedata.normalize('NFC', text).lower())
  return f' {" ".join(w for w in words if w not in _DROPPED)} '


@functools.lru_cache(maxsize=100_000)
def _spaced_answer(answer: str) -> str:
  return _spaced_words(answer)


@functools.lru_cache(maxsize=10_000)
def _compile(pattern: str) -> re.Pattern:
  try:
    return re.compile(pattern, re.IGNORECASE | re.MULTILINE)
  except re.error as error:
    raise errors.UserError(
      'An answer of a question with "regex": true must be a regular '
      f'expression. Got {pattern!r} ({error}). Correct it in the questions '
      'file.'
    ) from error


def _f1(prediction: str, answer: str) -> float:
  predicted = normalize_answer(prediction).split()
  expected = normalize_answer(answer).split()
  common = sum(
    min(predicted.count(word), expected.count(word)) for word in set(predicted)
  )
  if not common:
    return float(predicted == expected)  # Both empty: equal.
  return 2 * common / (len(predicted) + len(expected))
