"""Joins the lines of a text that was wrapped, as at 80 characters.

A sentence ends with its line, so each line of such a text would be one.
"""

import itertools

_FEWEST_LINES = 4
_WIDTHS = range(30, 121)  # Characters; longer lines are paragraphs.
_WIDTH_QUANTILE = 0.95  # Some lines are longer: addresses, tables.
_SHARE = 0.75  # Of lines before another one; the rest may be lists.


def unwrapped(text: str) -> str:
  """Returns a text with a paragraph a line, or a text that was not wrapped.

  Lines were wrapped if most are full: the next line's first word had no room.
  Scripts without spaces are left alone.
  """
  lines = text.split('\n')
  lengths = sorted(len(line.rstrip()) for line in lines if line.strip())
  if len(lengths) < _FEWEST_LINES:
    return text
  width = lengths[int(_WIDTH_QUANTILE * (len(lengths) - 1))]
  pairs = list(itertools.pairwise(lines))
  num_inner = sum(bool(a.strip() and b.strip()) for a, b in pairs)
  are_full = [_is_full(line, after, width) for line, after in pairs]
  if width not in _WIDTHS or sum(are_full) < max(_SHARE * num_inner, 1):
    return text
  parts = [lines[0]]
  for is_full, line in zip(are_full, lines[1:]):
    if not is_full:
      parts.append(f'\n{line}')
      continue
    before = parts[-1] = parts[-1].rstrip()
    is_cut = before[-1:] == '-' and before[-2:-1].isalpha()
    parts.append(' ' * (not is_cut) + line.strip())
  return ''.join(parts)


def _is_full(line: str, after: str, width: int) -> bool:
  """Returns whether the first word after a line had no room in it."""
  line = line.rstrip()
  if not line or ' ' not in line.strip() or not after.strip():
    return False
  if '\f' in line[0] + after[0] and after.strip()[0].islower():
    return True  # The lines at a page's end may be short.
  return len(line) + 1 + len(after.split()[0]) > width
