"""HTML as a tree, so that text can only ever be text.

Whatever is shown, a title of an article or the name of a metric, goes into the
tree as a string, and the serializer escapes it: no page part pastes strings.
"""

from typing import Any
from xml.etree import ElementTree

Element = ElementTree.Element


def element(tag: str, *children: Any, **attributes: Any) -> Element:
  """Returns <tag attributes>children</tag>.

  Args:
    tag: Name of the element.
    *children: Elements, or what becomes text; None is left out.
    **attributes: Names as in HTML; a `_` at the end is dropped (`class_`), one
      within becomes `-`. None is left out.
  """
  node = Element(tag)
  for name, value in attributes.items():
    if value is not None:
      node.set(name.rstrip('_').replace('_', '-'), str(value))
  for child in children:
    add(node, child)
  return node


def add(node: Element, child: Any) -> None:
  """Appends an element, or what becomes text; None adds nothing."""
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
  """Returns a table that scrolls where it is wider than the page.

  Args:
    headings: Of the columns.
    rows: Cells; an element that is a <th> or <td> already stays as it is, and
      the first cell of a row is its heading.
    class_: Of the table.
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
    # Whoever has no mouse must be able to scroll as well.
    tabindex='0',
  )


def to_page(root: Element) -> str:
  """Returns a whole page; `root` is its <html>."""
  text = ElementTree.tostring(root, encoding='unicode', method='html')
  return f'<!doctype html>\n{text}\n'


def _cell(content: Any, tag: str) -> Element:
  if isinstance(content, Element) and content.tag in ('td', 'th'):
    return content
  return element(tag, content, scope='row' if tag == 'th' else None)
