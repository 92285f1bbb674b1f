"""Masked sentences -> tables of candidates, like the paper's Table 3."""

from collections.abc import Sequence
import re
from typing import Optional

from realm_tf.reporting import elements
from realm_tf.rundir import examples as examples_lib

element = elements.element

_SHOWN_CHARACTERS = 300
_BEFORE_THE_WORDS = 80  # Shown characters before the masked words.


def build(examples: Sequence[examples_lib.Example]) -> list[elements.Element]:
  """Returns an <article> for each example."""
  return [_article(example) for example in examples]


def _article(example: examples_lib.Example) -> elements.Element:
  sentence = element('p', class_='query')
  for text, masked in example.pieces():
    elements.add(sentence, element('mark', text) if masked else text)
  pattern = _pattern(example)
  head = element(
    'tr',
    element('th', 'p(z|x)', scope='col'),
    element('th', 'p(y|z,x)', scope='col'),
    element('th', 'utility', scope='col'),
    element('th', 'block z', scope='col'),
  )
  rows = [_row(candidate, pattern) for candidate in example.candidates]
  table = element('table', element('thead', head), element('tbody', *rows))
  table.set('class', 'candidates')
  return element('article', sentence, table)


def _row(
  candidate: examples_lib.Candidate, pattern: Optional[re.Pattern]
) -> elements.Element:
  share = f'--share: {100 * min(max(candidate.p_z, 0.0), 1.0):.1f}%'
  return element(
    'tr',
    element('td', element('span', _probability(candidate.p_z)), style=share),
    element('td', _probability(candidate.p_y)),
    _utility(candidate),
    _block(candidate, pattern),
  )


def _utility(candidate: examples_lib.Candidate) -> elements.Element:
  if candidate.utility is None:
    return element('td', '–')
  text = f'{candidate.utility:+.2f}'.replace('-', '\N{MINUS SIGN}')
  if candidate.block_id is None:  # The null block is the baseline.
    return element('td', text)
  return element('td', text, class_='helps' if text[0] == '+' else 'hurts')


def _block(
  candidate: examples_lib.Candidate, pattern: Optional[re.Pattern]
) -> elements.Element:
  if candidate.block_id is None:
    return element('td', 'null block: the reader sees no text', class_='null')
  cell = element('td', element('strong', candidate.title), ' ')
  for piece in _marked(_cut(candidate.text, pattern), pattern):
    elements.add(cell, piece)
  return cell


def _probability(value: float) -> str:
  """Returns three decimals; below 0.001, the order of magnitude."""
  if value >= 0.001 or value == 0.0:
    return f'{value:.3f}'
  return f'{value:.0e}'.replace('-', '\N{MINUS SIGN}')


def _pattern(example: examples_lib.Example) -> Optional[re.Pattern]:
  """Returns a pattern that finds the masked words in upper or lower case."""
  found = []
  for start, end in example.masked:
    words = example.query[start:end].split()
    # A single letter would match everywhere.
    if len(''.join(words)) > 1 or ''.join(words).isdigit():
      # Joined wordpieces have extra spaces: 'u . s .' for 'U.S.'.
      found.append(r'\s*'.join(re.escape(word) for word in words))
  if not found:
    return None
  return re.compile(rf'(?<!\w)(?:{"|".join(found)})(?!\w)', re.IGNORECASE)


def _cut(text: str, pattern: Optional[re.Pattern]) -> str:
  """Returns a part of `text` with the masked words, if found."""
  match = pattern.search(text) if pattern else None
  start = 0
  if match and match.end() > _SHOWN_CHARACTERS:
    start = max(0, match.start() - _BEFORE_THE_WORDS)
    start = text.find(' ', start, match.start()) + 1 or start
  end = start + _SHOWN_CHARACTERS
  if end < len(text):
    space = text.rfind(' ', start, end)
    end = max(space if space > start else end, match.end() if match else 0)
  return f'{"… " if start else ""}{text[start:end]}{" …" * (end < len(text))}'


def _marked(text: str, pattern: Optional[re.Pattern]) -> list:
  """Returns `text` in pieces, with <mark> elements for matches."""
  pieces, position = [], 0
  for match in pattern.finditer(text) if pattern else ():
    pieces += [text[position : match.start()], element('mark', match.group())]
    position = match.end()
  return [*pieces, text[position:]]
