"""Builds HTML as a tree of elements; the serializer escapes all text."""

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


def to_html(node: Element) -> str:
  """Returns the HTML of an element."""
  return ElementTree.tostring(node, encoding='unicode', method='html')
