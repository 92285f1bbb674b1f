"""Reads HTML pages by trafilatura, which only this file imports.

Menus, footers and advertisements are left out. Nothing is downloaded.
"""

from collections.abc import Iterator
from typing import Any

import trafilatura

from realm_tf.corpus import article_records
from realm_tf.corpus import documents

_HEADINGS = '//h1|//h2|//h3|//h4|//h5|//h6'
_INLINE = {'hi', 'ref', 'del', 'code', 'graphic'}
_HOLDS_LINES = {'p', 'item', 'head', 'cell', 'quote'}  # And code within.


def read(path: str, content: bytes) -> list[article_records.Article]:
  """Returns the sections; an item of definitions is 'term: definition'."""
  tree = trafilatura.load_html(content)
  if tree is None:
    return []
  title = ''.join(tree.xpath('(//title)[1]//text()'))
  has_headings = bool(tree.xpath(_HEADINGS))
  found = _extract(tree)
  if has_headings and (found is None or found.body.find('.//head') is None):
    # It keeps the headings of pages that mark their article; manuals do not.
    found = _extract(_as_article(trafilatura.load_html(content)), fast=True)
  return documents.sections(path, title, _parts(found.body) if found else ())


def _extract(tree: Any, fast: bool = False) -> Any:
  return trafilatura.bare_extraction(
    tree, fast=fast, include_comments=False, favor_recall=True
  )


def _as_article(tree: Any) -> Any:
  """Marks the whole page as an article, and boxes of headings as its parts."""
  for body in tree.iter('body'):
    body.tag = 'article'
  for heading in tree.xpath(_HEADINGS):
    heading.attrib.clear()
    for box in heading.iterancestors():
      if box.xpath('normalize-space()') != heading.xpath('normalize-space()'):
        break
      box.tag = 'section'
      box.attrib.clear()
  return tree


def _parts(element: Any) -> Iterator[tuple[int, str]]:
  """Yields (level of a heading or 0, text) in an element of trafilatura's."""
  kind = element.get('rend', '')
  if element.tag == 'head':
    yield int(kind[1:] or 1), ''.join(element.itertext()).rstrip(' ¶#\n')
  elif element.tag == 'row':
    yield 0, ' | '.join(' '.join(cell.itertext()) for cell in element)
  elif element.tag == 'code':
    yield from ((0, line) for line in ''.join(element.itertext()).split('\n'))
  else:
    words, term = [element.text or ''], ''
    for child in element:
      if child.tag in _INLINE and element.tag in _HOLDS_LINES:
        words += child.itertext()
      else:
        yield 0, ''.join(words)
        words = []
        inner = _parts(child)
        if child.get('rend', '').startswith('dt'):
          term = ' '.join(text for _, text in inner)
        else:
          for level, text in inner:
            yield level, f'{term}: {text}' if term and text else text
            term = term if not text.strip() else ''
      words.append(child.tail or '')
    yield 0, term + ''.join(words)
