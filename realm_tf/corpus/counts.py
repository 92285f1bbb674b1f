"""Counts the records that a reader keeps and leaves out, by reason."""

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from absl import logging

from realm_tf import errors

UNREADABLE = 'unreadable'
EMPTY = 'empty'
REPEATED = 'repeated id'
UNTITLED = 'articles without a title'
MARKED = 'articles with marks of Markdown, which stay'
_NUM_LOGGED = 20  # A binary file would fill the log.
_MOST_EXAMPLES = 8
_Given = TypeVar('_Given')
_Made = TypeVar('_Made')


class Counts:
  """Counters of a job that reads articles, sentences or queries.

  Args:
    skip_errors: Whether unreadable records are skipped, or raise an error.

  Attributes:
    kept: 'articles', 'sentences', 'spans' -> number.
    left_out: Reason -> number.
    examples: Reason -> the last 8 files that were left out for it; 'spans' ->
      the last 8.
    on_redirect: Receives the title of each redirect and its goal.
  """

  def __init__(self, skip_errors: bool = False):
    self.skips = skip_errors
    self.kept: collections.Counter[str] = collections.Counter()
    self.left_out: collections.Counter[str] = collections.Counter()
    self.examples: dict[str, list[str]] = collections.defaultdict(list)
    self.on_redirect: Callable[[str, str], None] = lambda title, goal: None

  def keep(self, what: str, number: int = 1) -> None:
    self.kept[what] += number

  def add_examples(self, kind: str, texts: Sequence[str]) -> None:
    self.examples[kind] += [t for t in texts if t not in self.examples[kind]]
    del self.examples[kind][:-_MOST_EXAMPLES]

  def drop(self, reason: str, number: int = 1, file: str = '') -> None:
    """Counts records, or a file, that are left out on purpose."""
    if number:
      self.left_out[reason] += number
    if file:
      self.add_examples(reason, [file])

  def error(
    self, error: errors.UserError, reason: str = UNREADABLE, file: str = ''
  ) -> None:
    """Counts an unusable record or file, or raises `error`."""
    if not self.skips:
      raise error
    self.drop(reason, file=file)
    if self.left_out[reason] <= _NUM_LOGGED:
      logging.warning('Skipped: %s', error)

  def parsed(
    self,
    records: Iterable[tuple[str, _Given]],
    parse: Callable[[str, _Given], _Made],
  ) -> Iterator[tuple[str, _Made]]:
    """Yields (place, parse(place, record)); counts the errors of `parse`."""
    for where, record in records:
      try:
        made = parse(where, record)
      except errors.UserError as error:
        self.error(error)
      else:
        yield where, made

  def summary(self) -> str:
    """Returns e.g. ' Left out: 3 redirect, 1 picture (a.png).', or ''."""
    notes = (what for what in (UNTITLED, MARKED) if self.kept[what])
    text = ''.join(f' {self.kept[what]} {what}.' for what in notes)
    parts = []
    for reason, number in sorted(self.left_out.items()):
      names = self.examples.get(reason, [])
      shown = ', '.join([*names, *['...'] * (number > len(names))])
      parts.append(f'{number} {reason}' + f' ({shown})' * bool(names))
    return text + f' Left out: {", ".join(parts)}.' * bool(parts)


STRICT = Counts()  # Raises the first error; readers may share it.


def num_articles(kept: Mapping[str, int], left_out: Mapping[str, int]) -> int:
  """Returns the number of articles with a number: kept and dropped ones."""
  reasons = 'list', 'disambiguation', EMPTY, REPEATED
  return kept.get('articles', 0) + sum(left_out.get(r, 0) for r in reasons)
