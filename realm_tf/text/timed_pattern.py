"""Regular expressions that give up: answers of CuratedTREC, from anyone.

The only file that imports `regex`, whose matching takes a time limit; Python's
own `re` has none, and (a+)+$ keeps it busy for years. A search that runs into
the limit counts as no match, is logged once, and a pattern that does so again
and again is not tried any more: a question may have thousands of blocks.
"""

from absl import logging
import regex

from realm_tf import errors

TIME_LIMIT_SECS = 0.1  # Of one search; a block of 288 wordpieces takes 1e-5.
_MAX_TIMEOUTS = 50  # Of one pattern: 5 seconds lost at most.


def problem(pattern: str) -> str:
  """Returns why `pattern` is no regular expression; '' if it is one."""
  try:
    _compile(pattern)
  except regex.error as error:
    return str(error)
  return ''


class TimedPattern:
  """A regular expression, in any case, '^' and '$' at each line.

  Args:
    pattern: Its source.
    limit_secs: Seconds that one match, search or list of spans may take.

  Raises:
    UserError: It is no regular expression.
  """

  def __init__(self, pattern: str, limit_secs: float = TIME_LIMIT_SECS):
    self._limit_secs = limit_secs
    self._num_timeouts = 0
    try:
      self._regex = _compile(pattern)
    except regex.error as error:
      raise errors.UserError(
        'An answer of a question with "regex": true must be a regular '
        f'expression. Got {pattern!r} ({error}). Correct it in the questions '
        'file.'
      ) from error

  def matches_start(self, text: str) -> bool:
    """Returns whether `text` begins with a match; not if time runs out."""
    return bool(self._spans(text, self._regex.match))

  def occurs(self, text: str) -> bool:
    """Returns whether a match is anywhere; not if time runs out."""
    return bool(self._spans(text, self._regex.search))

  def spans(self, text: str) -> list[tuple[int, int]]:
    """Returns the characters (start, end) of all matches, left to right.

    Matches do not overlap; one of nothing is an empty span. What was found
    before time ran out is kept.
    """
    return self._spans(text, self._regex.finditer)

  def _spans(self, text, find):
    """Runs a method of the pattern; returns the spans that it found."""
    found = []
    if self._num_timeouts >= _MAX_TIMEOUTS:
      return found
    try:
      matches = find(text, timeout=self._limit_secs)
      if find != self._regex.finditer:
        matches = filter(None, [matches])
      for match in matches:
        found.append(match.span())
    except TimeoutError:
      self._count_timeout()
    return found

  def _count_timeout(self):
    self._num_timeouts += 1
    if self._num_timeouts == 1:
      logging.warning(
        'The answer %r takes more than %g seconds to look for in a text, which '
        'counts as no match; after %d such texts it is given up.',
        self._regex.pattern,
        self._limit_secs,
        _MAX_TIMEOUTS,
      )


def _compile(pattern: str) -> regex.Pattern:
  # Version 0 is the behaviour of `re`.
  flags = regex.IGNORECASE | regex.MULTILINE | regex.VERSION0
  return regex.compile(pattern, flags)
