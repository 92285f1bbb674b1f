"""A report of `records.inspection` on a corpus or queries -> an HTML page."""

from collections.abc import Mapping, Sequence
from typing import Any

from realm_tf.reporting import elements
from realm_tf.reporting import page

element = elements.element


def build(
  title: str,
  facts: Mapping[str, Any],
  histograms: Mapping[str, tuple[str, Sequence[tuple[str, int]]]],
  examples: Sequence[tuple[str, Sequence[tuple[str, bool]]]],
) -> str:
  """Returns the page.

  Args:
    facts: Name -> value.
    histograms: Name -> (summary, (label, count) of each bin).
    examples: (heading, pieces) of each; a piece is (text, whether to mark it).
  """
  main = element('main', _rows([[*fact] for fact in facts.items()]))
  for name, (summary, bins) in histograms.items():
    most = max(count for _, count in bins)
    rows = [
      [label, element('meter', max=most, value=count), count]
      for label, count in bins
    ]
    for child in (element('h2', name), element('p', summary), _rows(rows)):
      elements.add(main, child)
  for heading, pieces in examples:
    text = element('p', class_='example')
    for piece, is_marked in pieces:
      elements.add(text, element('mark', piece) if is_marked else piece)
    elements.add(main, element('article', element('h3', heading), text))
  body = element('body', element('header', element('h1', title)), main)
  return elements.to_page(element('html', page.head(title), body, lang='en'))


def _rows(rows: Sequence[Sequence[Any]]) -> elements.Element:
  return element(
    'table',
    *(element('tr', *(element('td', cell) for cell in row)) for row in rows),
  )
