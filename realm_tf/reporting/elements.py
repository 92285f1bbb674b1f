"""Builds HTML as a tree of elements; the serializer escapes all text."""

import math
from typing import Any
from xml.etree import ElementTree

Element = ElementTree.Element


def element(tag: str, *children: Any, **attributes: Any) -> Element:
  """Returns <tag attributes>children</tag>.

  Args:
    *children: Elements, or values that become text; None is skipped.
    **attributes: HTML's attributes, written like `class_` and `aria_label`;
      None is skipped.
  """
  node = Element(tag)
  for name, value in attributes.items():
    if value is not None:
      node.set(name.rstrip('_').replace('_', '-'), str(value))
  for child in children:
    add(node, child)
  return node


def add(node: Element, child: Any) -> None:
  """Appends an element, or a value as text; None adds nothing."""
  if child is None:
    return
  if isinstance(child, Element):
    node.append(child)
  elif len(node):
    node[-1].tail = (node[-1].tail or '') + str(child)
  else:
    node.text = (node.text or '') + str(child)


def table(
  headings: list[Any], rows: list[list[Any]], class_: str = ''
) -> Element:
  """Returns a table that scrolls if it is wider than the page.

  Args:
    rows: Cells: <th> or <td> elements, or their contents. The first cell is the
      row's heading.
  """
  head = element('tr', *(element('th', h, scope='col') for h in headings))
  body = element('tbody')
  for first, *rest in rows:
    cells = [_cell(first, 'th'), *(_cell(cell, 'td') for cell in rest)]
    body.append(element('tr', *cells))
  return element(
    'div',
    element('table', element('thead', head), body, class_=class_ or None),
    class_='scrolls',
    tabindex='0',  # Makes the keyboard scroll the table.
  )


def to_page(root: Element) -> str:
  """Returns a page of the <html> element `root`."""
  return f'<!doctype html>\n{to_html(root)}\n'


def to_html(node: Element) -> str:
  """Returns the HTML of an element."""
  return ElementTree.tostring(node, encoding='unicode', method='html')


def number(value: Any) -> str:
  """Returns numbers with about four digits, and other values unchanged."""
  if isinstance(value, bool) or not isinstance(value, (int, float)):
    return str(value)
  if isinstance(value, int):
    text = f'{value:,}'
  elif math.isfinite(value) and abs(value) >= 1000:
    text = f'{value:,.0f}'
  else:
    text = f'{value:.4g}'
  return text.replace('-', '\N{MINUS SIGN}')


def _cell(content: Any, tag: str) -> Element:
  if isinstance(content, Element) and content.tag in ('td', 'th'):
    return content
  return element(tag, content, scope='row' if tag == 'th' else None)
