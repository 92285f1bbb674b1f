"""Rules by which an answer is right, and by which a block holds an answer.

* Exact match and F1 use ORQA's normalization (Lee et al. 2019): SQuAD's rule
  after Unicode decomposition, which deletes ASCII punctuation.
* A block holds an answer if it has the answer's words in a row. Punctuation
  separates words, as in DPR's has_answer; deleting it ("New York-based" -> "new
  yorkbased") would lose the answer of 1.8 % of SQuAD's paragraphs, not 0.2 %.
* An answer may be a regular expression. It is a user's, so its time and size
  have limits: (a+)+$ keeps `re` busy for years. `regex` has a time limit, and
  compiles {n} as n copies.

Training matches wordpieces of whole words (`data.answer_spans`): "the
Louvre" is not "a Louvre".
"""

import collections
from collections.abc import Callable, Sequence
import functools
import re
import string
from typing import Any

from absl import logging
import numpy as np
import regex as regex_lib

from realm_tf.text import plain_letters
from realm_tf.text import words

_ARTICLE = ('a', 'an', 'the')
_ARTICLES = re.compile(r'\b(a|an|the)\b')
_DELETE_PUNCTUATION = str.maketrans('', '', string.punctuation)


@functools.lru_cache(maxsize=100_000)
def normalize_answer(text: str) -> str:
  """Decomposes (NFD), lower-cases, drops ASCII punctuation, a, an and the."""
  text = plain_letters.normalize('NFD', text).lower()
  text = _ARTICLES.sub(' ', text.translate(_DELETE_PUNCTUATION))
  return ' '.join(text.split())


def exact_match(
  prediction: str, answers: Sequence[str], regex: bool = False
) -> bool:
  """Returns whether the prediction equals any of the answers.

  With `regex`, an answer must match the start of the raw prediction, in any
  case, as in DrQA and ORQA.
  """
  if regex:
    return any(_compile(a).matches_start(prediction) for a in answers)
  normalized = normalize_answer(prediction)
  return any(normalized == normalize_answer(answer) for answer in answers)


def f1(prediction: str, answers: Sequence[str]) -> float:
  """Returns SQuAD's word-overlap F1 in [0, 1] with the best answer."""
  return max((_f1(prediction, answer) for answer in answers), default=0.0)


def contains_answer(
  text: str, answers: Sequence[str], regex: bool = False
) -> bool:
  """Returns whether any answer occurs in `text`, in any case.

  Without `regex` an answer's words must occur in a row, with any punctuation
  between them; in scripts without spaces its letters. An article at the start
  of an answer may be missing, as exact match allows.
  """
  return _finder(answers, regex)(_searchable(text, regex))


def find_matches(text: str, patterns: Sequence[str]) -> list[tuple[int, int]]:
  """Returns the distinct character spans of all matches, sorted."""
  return sorted({span for p in patterns for span in _compile(p).spans(text)})


class AnswerMatcher:
  """Finds blocks that hold an answer, and caches the words of blocks.

  The cache shortens 10,000 questions with 20 blocks from minutes to seconds.
  """

  def __init__(self, read_texts: Callable[[Sequence[int]], Sequence[str]]):
    @functools.lru_cache(maxsize=200_000)
    def read(block_id: int, regex: bool) -> str:
      return _searchable(read_texts([block_id])[0], regex)

    self._read = read

  def matches(
    self,
    block_ids: np.ndarray,
    answers: Sequence[Sequence[str]],
    regexes: Sequence[bool],
  ) -> np.ndarray:
    """Returns whether each block holds an answer, bool [B, K].

    Args:
      block_ids: int [B, K]; negative ids are no block.
      answers: Answers of each of B questions.
      regexes: Whether each question's answers are regular expressions.
    """
    found = np.zeros(block_ids.shape, bool)
    for row, (ids, regex) in enumerate(zip(block_ids, regexes, strict=True)):
      columns = np.flatnonzero(ids >= 0)
      is_in = _finder(answers[row], regex)
      found[row, columns] = [
        is_in(self._read(block_id, regex)) for block_id in ids[columns].tolist()
      ]
    return found


def _searchable(text: str, regex: bool) -> str:
  return text if regex else _spaced(words.split(text))


def _finder(answers: Sequence[str], regex: bool) -> Callable[[str], bool]:
  """Returns whether a searchable text has an answer, as a function."""
  if regex:
    return lambda text: any(_compile(a).occurs(text) for a in answers)
  spaced = [each for each in map(_spaced_answer, answers) if each.strip()]
  return lambda text: any(each in text for each in spaced)


def _spaced(found: Sequence[str]) -> str:
  """Returns words with a space around each."""
  return f' {" ".join(found)} '


@functools.lru_cache(maxsize=100_000)
def _spaced_answer(answer: str) -> str:
  """Returns the answer's words without an article before them."""
  found = words.split(answer)
  has_article = len(found) > 1 and found[0] in _ARTICLE
  return _spaced(found[has_article:])


def _f1(prediction: str, answer: str) -> float:
  predicted, expected = (
    words.spaced_letters(normalize_answer(text)).split()
    for text in (prediction, answer)
  )
  shared = collections.Counter(predicted) & collections.Counter(expected)
  common = shared.total()
  if not common:
    return float(predicted == expected)  # Two empty texts are equal.
  return 2 * common / (len(predicted) + len(expected))


_LIMIT_SECS = 0.1  # A search of 288 wordpieces usually takes 1e-5.
_MAX_TIMEOUTS = 50  # A pattern costs at most 5 seconds.
_MAX_CHARACTERS = 10_000  # The longest of CuratedTREC has 1,310.
_MAX_SIZE = 500_000  # Compiled parts; they take up to 0.2 KB each.
# Last character of the repeated part, and the n of {n} or {n,m}.
_REPETITION = re.compile(r'(?s)(.?)\{\s*([0-9]+)')
# Flag 'x' allows comments between the repeated part and {n}.
_FREE_SPACING = re.compile(
  r'(?<!\\)(?:\\\\)*\(\?[a-zA-Z0-9]*x[a-zA-Z0-9]*[-:)]'
)
_WRONG = (regex_lib.error, LookupError, OverflowError, ValueError)


def pattern_problem(pattern: str) -> str:
  """Returns the fault of a regular expression; '' if it is usable."""
  try:
    _compiled(pattern)
  except RecursionError:
    return 'its groups are nested too deeply'
  except _WRONG as error:
    return str(error)
  return ''


class TimedPattern:
  """A usable regular expression that ignores case; '^' matches at each line."""

  def __init__(self, pattern: str, limit_secs: float = _LIMIT_SECS):
    self._limit_secs = limit_secs
    self._num_timeouts = 0
    self._regex = _compiled(pattern)

  def matches_start(self, text: str) -> bool:
    """Returns whether `text` begins with a match; False on a timeout."""
    return bool(self._spans(text, self._regex.match))

  def occurs(self, text: str) -> bool:
    """Returns whether `text` has a match; False on a timeout."""
    return bool(self._spans(text, self._regex.search))

  def spans(self, text: str) -> list[tuple[int, int]]:
    """Returns the characters (start, end) of all matches before a timeout."""
    return self._spans(text, self._regex.finditer)

  def _spans(
    self, text: str, find: Callable[..., Any]
  ) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    if self._num_timeouts >= _MAX_TIMEOUTS:
      return found
    try:
      matches = find(text, timeout=self._limit_secs)
      is_one = matches is None or isinstance(matches, regex_lib.Match)
      for match in filter(None, [matches]) if is_one else matches:
        found.append(match.span())
    except TimeoutError:
      self._num_timeouts += 1
      if self._num_timeouts == 1:
        logging.warning(
          'The search for answer %r in a text took more than %g seconds and '
          'counts as no match. After %d such texts all searches for it stop.',
          self._regex.pattern,
          self._limit_secs,
          _MAX_TIMEOUTS,
        )
    return found


_compile = functools.lru_cache(maxsize=10_000)(TimedPattern)


def _compiled(pattern: str) -> regex_lib.Pattern:
  """Compiles a pattern; ValueError if it may become too large.

  The upper bound of the compiled size assumes that all repeated groups are
  nested, so it needs no parser.
  """
  if len(pattern) > _MAX_CHARACTERS:
    raise ValueError(f'it has more than {_MAX_CHARACTERS:,} characters')
  if _FREE_SPACING.search(pattern):
    raise ValueError('its flag x is not supported')
  longest, size = 1, len(pattern)
  for repeated, number in _REPETITION.findall(pattern):
    least = int(number[:9])
    if repeated in ')}':  # A group, or its fuzzy constraint.
      size *= max(least, 1)
    else:
      longest = max(longest, least)
  if size * longest > _MAX_SIZE:
    raise ValueError('its repetitions multiply to too large a size')
  # VERSION0 behaves as `re` does.
  flags = regex_lib.IGNORECASE | regex_lib.MULTILINE | regex_lib.VERSION0
  return regex_lib.compile(pattern, flags)
