"""Checks that functions of text take linear time, on difficult texts."""

from collections.abc import Callable
import gc
import time
from typing import Any

_GROWTH = 8  # Three doublings; each may take 2.5 times the time.
_MOST = 2.5**3  # A quadratic function takes 64 times the time.
_TRIES = 30  # One success suffices, so a busy second fails no test.
_TOO_SHORT_SECS = 0.01  # Shorter times always pass.

# Name -> text of n repetitions.
TEXTS: dict[str, Callable[[int], str]] = {
  **{
    name: lambda n, unit=unit: unit * n
    for name, unit in {
      'dots': '.',
      'spaces': ' ',
      'no_break_spaces': '\xa0',
      'lines': '\n',
      'quotes': '"',
      'apostrophes': "'",
      'parentheses': '(',
      'closed': ')',
      'brackets': '[[',
      'angles': '<',
      'hyphens': '-',
      'digits': '1',
      'capitals': 'A',
      'small': 'a',
      'capital_and_small': 'Aa',
      'accents': '\u0301',
      'accented': 'e\u0301',
      'joiners': '\u200d',
      'soft_hyphens': 'a\xad',
      'chinese': '中',
      'emoji': '😀',
      'dotted': 'a.',
      'initials': 'A. ',
      'dotted_initials': 'A.',
      'titles': 'Mr. ',
      'numbers': '1 ',
      'grouped_digits': '123,',
      'years': '19',
      'dates': 'January 1, ',
      'dated_clauses': 'on 5 May 1990 it rained and in 1991, ',
      'months': 'May ',
      'centuries': 'first and ',
      'names': 'Anna Maria ',
      'joined_names': 'Anna-',
      'connected_names': 'Anna of the ',
      'sentences': 'It rained in Paris. ',
      'urls': 'http://example.org/a?b=c ',
      'open_tags': '<a href="x">',
      'open_templates': '{{a|',
    }.items()
  },
  'mixed_accents': lambda n: 'a' + '\u0327\u0301' * n,
  'word_then_dots': lambda n: 'a' * n + '.' * n,
  'spaces_then_word': lambda n: 'a' + ' ' * n + 'b',
  'nested': lambda n: '(' * n + ')' * n,
  'nested_links': lambda n: '[[' * n + 'a' + ']]' * n,
}


def check(
  function: Callable[[Any], Any], make: Callable[[int], Any], size: int
) -> None:
  """Fails if three doublings of the size take more than 2.5^3 times the time.

  Args:
    function: Function to measure.
    make: Size -> its argument, e.g. one of `TEXTS`.
    size: Smaller size; `function` should take 0.5 to 5 ms for it.
  """
  small, large = make(size), make(_GROWTH * size)
  for _ in range(_TRIES):  # Both at the same time: a machine's speed varies.
    least = min(_seconds(function, small) for _ in range(3))
    most = _seconds(function, large)
    if most <= max(_MOST * least, _TOO_SHORT_SECS):
      return
  raise AssertionError(
    f'{_GROWTH} times the size takes {most / least:.1f} times the time: '
    f'{least:.2g} s for {size}, {most:.2g} s for {_GROWTH * size}.'
  )


def _seconds(function, argument):
  gc.disable()  # A collection takes time for each object of the process.
  try:
    start = time.thread_time()  # Other processes do not count.
    function(argument)
    return time.thread_time() - start
  finally:
    gc.enable()
