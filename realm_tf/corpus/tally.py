"""What reading leaves out: counted by reason, or the end of it."""

import collections

from absl import logging

from realm_tf import errors

UNREADABLE = 'unreadable'
_NUM_LOGGED = 20  # A file that is no text at all would fill the log.


class Tally:
  """Counts dropped articles and skipped records.

  Args:
    skip_errors: Whether a record that cannot be read is skipped and counted as
      UNREADABLE. It is an error otherwise.

  Attributes:
    counts: Reason -> number.
    kept: 'articles', 'sentences' -> number.
  """

  def __init__(self, skip_errors: bool = False):
    self._skip_errors = skip_errors
    self.counts: collections.Counter[str] = collections.Counter()
    self.kept: collections.Counter[str] = collections.Counter()

  def keep(self, what: str, number: int = 1) -> None:
    """Counts what is not left out."""
    self.kept[what] += number

  def drop(self, reason: str, number: int = 1) -> None:
    """Counts what is left out on purpose."""
    if number:
      self.counts[reason] += number

  def error(self, error: errors.UserError) -> None:
    """Counts a record that cannot be read, or raises `error`."""
    if not self._skip_errors:
      raise error
    self.counts[UNREADABLE] += 1
    if self.counts[UNREADABLE] <= _NUM_LOGGED:
      logging.warning('Skipped: %s', error)

  def summary(self) -> str:
    """Returns e.g. ' Left out: 3 redirect, 1 list.'; '' for nothing."""
    if not self.counts:
      return ''
    counts = ', '.join(
      f'{n} {reason}' for reason, n in sorted(self.counts.items())
    )
    return f' Left out: {counts}.'
