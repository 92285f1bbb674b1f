"""Reads DOCX by python-docx, which only this file imports."""

from collections.abc import Iterator
import io
import re
from typing import Any

import docx
from docx.text import paragraph as paragraphs

from realm_tf.corpus import article_records
from realm_tf.corpus import documents

_BLOCKS = './w:p | ./w:tbl | ./w:sdt/w:sdtContent/*[self::w:p or self::w:tbl]'
# Deleted words are in other elements; boxes of text repeat theirs.
_WORDS = './/*[self::w:t or self::w:tab or self::w:br or self::w:cr]'
_NO_BOX = '[not(ancestor::w:txbxContent)]'
_HEADING = re.compile(r'(?:heading (\d)|title$|(toc ))', re.IGNORECASE)


def read(path: str, content: bytes) -> list[article_records.Article]:
  """Returns the sections; a row of a table is a paragraph.

  Tables of contents, headers, footers, notes, comments and boxes are left out.
  """
  document = docx.Document(io.BytesIO(content))
  title = documents.sensible(document.core_properties.title)
  return documents.sections(path, title, _parts(document))


def _parts(document: Any) -> Iterator[tuple[int, str]]:
  for block in document.element.body.xpath(_BLOCKS):
    if block.tag.endswith('}tbl'):
      for row in block.xpath('./w:tr'):
        cells = row.xpath('./w:tc')
        yield (
          0,
          ' | '.join(' '.join(map(_text, c.xpath('.//w:p'))) for c in cells),
        )
      continue
    match, style = None, paragraphs.Paragraph(block, document).style
    while style is not None and not match:  # Own styles build on headings.
      match, style = _HEADING.match(style.name or ''), style.base_style
    if not (match and match[2]):
      yield (int(match[1] or 1) if match else 0), _text(block)


def _text(paragraph: Any) -> str:
  return ''.join(each.text or ' ' for each in paragraph.xpath(_WORDS + _NO_BOX))
