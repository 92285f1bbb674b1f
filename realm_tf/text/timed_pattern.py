"""Regular expressions with limits of time and size, for untrusted answers.

Only this file gives users' patterns to `regex`, which has a time limit; (a+)+$
keeps `re` busy for years. It compiles {n} as n copies, so the size is limited,
too.
"""

from collections.abc import Callable
import re
from typing import Any

from absl import logging
import regex

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
_WRONG = (regex.error, LookupError, OverflowError, ValueError)


def problem(pattern: str) -> str:
  """Returns the fault of a regular expression; '' if it is usable."""
  try:
    _compile(pattern)
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
    self._regex = _compile(pattern)

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
      is_one = matches is None or isinstance(matches, regex.Match)
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


def _compile(pattern: str) -> regex.Pattern:
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
  flags = regex.IGNORECASE | regex.MULTILINE | regex.VERSION0
  return regex.compile(pattern, flags)
