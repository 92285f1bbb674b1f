"""Counts of what reading keeps and of what it leaves out, by reason."""

import collections
from collections.abc import Callable

from absl import logging

from realm_tf import errors

UNREADABLE = 'unreadable'
_NUM_LOGGED = 20  # A file that is no text at all would fill the log.


class Counts:
  """Counters of a job that reads articles, sentences or queries.

  Args:
    skip_errors: Whether to skip unreadable records and count them as
      UNREADABLE. By default the first is an error.

  Attributes:
    kept: 'articles', 'sentences' -> number.
    left_out: Reason -> number.
    on_redirect: Called with the title of each page that only points to another
      page, and with that page's; does nothing by default.
  """

  def __init__(self, skip_errors: bool = False):
    self._skip_errors = skip_errors
    self.kept: collections.Counter[str] = collections.Counter()
    self.left_out: collections.Counter[str] = collections.Counter()
    self.on_redirect: Callable[[str, str], None] = lambda title, goal: None

  def keep(self, what: str, number: int = 1) -> None:
    self.kept[what] += number

  def drop(self, reason: str, number: int = 1) -> None:
    """Counts what is left out on purpose."""
    if number:
      self.left_out[reason] += number

  def error(self, error: errors.UserError) -> None:
    """Counts an unreadable record, or raises `error`."""
    if not self._skip_errors:
      raise error
    self.left_out[UNREADABLE] += 1
    if self.left_out[UNREADABLE] <= _NUM_LOGGED:
      logging.warning('Skipped: %s', error)

  def summary(self) -> str:
    """Returns e.g. ' Left out: 3 redirect, 1 list.'; '' for nothing."""
    if not self.left_out:
      return ''
    numbers = (f'{n} {reason}' for reason, n in sorted(self.left_out.items()))
    return f' Left out: {", ".join(numbers)}.'
