"""Reads the pages of a PDF by PDFium, which only this file imports.

  pages -> lines with places -> no headers and footers -> paragraphs

Letters that are drawn as one, and words that are divided at the end of a line,
become whole.
"""

import collections
from collections.abc import Collection, Iterator
import itertools
import re
from typing import NamedTuple
import unicodedata

import pypdfium2
from pypdfium2 import raw

from realm_tf.corpus import article_records
from realm_tf.corpus import documents

_MENDED = {
  **{c: unicodedata.normalize('NFKC', chr(c)) for c in range(0xFB00, 0xFB07)},
  **dict.fromkeys(range(0xD800, 0xE000), '\ufffd'),  # No text can have them.
  2: '-\r',  # PDFium's hyphen at the end of a line, which it joins.
}
_LEADERS = re.compile(r'(?: ?\.){5,}')  # Of a table of contents.
_NUMBER = re.compile(r'\d{1,5}')  # Of a page.
_NUM_OUTER = 2  # Lines of a header or a footer.
_FEWEST_PAGES = 3  # With the same header.
_GAP = 1.2  # Lines further apart, in usual distances, are two paragraphs.
_INDENT = 0.7  # Of a paragraph's first line, in sizes of a letter.
_SAME_SIZE = 0.15  # Relative difference.
_END = re.compile(r'[.!?:;]["”’»)\]]*$')
_ITEM = re.compile(r'[•‣▪●○◦–*-] |\(?(?:\d{1,2}|[a-z])[.)] ')
_DIVIDED = re.compile(r'(\w+)([-\xad‐])\r(\w+)')
_COMPOUND = re.compile(r'\w+-\w+')


class _Line(NamedTuple):
  """A line of a page; x and y from its lower left corner, in points."""

  x: float
  y: float
  size: float
  text: str


def read(path: str, content: bytes) -> list[article_records.Article] | str:
  """Returns the pages, none of a scanned PDF, or why there are none."""
  try:
    document = pypdfium2.PdfDocument(content)
  except pypdfium2.PdfiumError as error:
    if error.err_code == raw.FPDF_ERR_PASSWORD:
      return 'encrypted pdf'
    raise
  pages = [[*_lines(page)] for page in document]
  title = documents.sensible(document.get_metadata_value('Title'))
  _drop_margins(pages)
  lines = itertools.chain.from_iterable(pages)
  compounds = {*_COMPOUND.findall(' '.join(line.text for line in lines))}
  return [
    article_records.Article(
      f'{title or documents.name_of(path)}, page {number}',
      _paragraphs(lines, compounds),
      f'{path}#page={number}',
    )
    for number, lines in enumerate(pages * any(pages), 1)
  ]


def _lines(page: pypdfium2.PdfPage) -> Iterator[_Line]:
  """Yields the lines in the order in which the page draws them."""
  found = page.get_textpage()
  codes = (
    raw.FPDFText_GetUnicode(found, i) for i in range(found.count_chars())
  )
  start = 0
  for line in ''.join(map(chr, codes)).split('\n'):
    if words := _LEADERS.sub(' ', ' '.join(line.split())).split():
      first = start + line.index(words[0])
      x, y, _, top = found.get_charbox(first, loose=True)
      text = ' '.join(words).translate(_MENDED)
      yield _Line(x, y, top - y or 1.0, text)
    start += len(line) + 1


def _drop_margins(pages: list[list[_Line]]) -> None:
  """Removes outer lines that several pages have, but for the page's number.

  If pages repeat most lines at a height, the others there are headers, too.
  """
  outer = [
    (lines, line, [*_texts(line, page)])
    for page, lines in enumerate(pages)
    for order in [sorted(lines, key=lambda line: line.y)]
    for line in {*order[:_NUM_OUTER], *order[-_NUM_OUTER:]}
  ]
  found = collections.Counter(text for *_, texts in outer for text in {*texts})
  are_headers = [
    max(found[text] for text in texts) >= _FEWEST_PAGES for *_, texts in outer
  ]
  votes: collections.Counter[int] = collections.Counter()
  for (_, line, _), is_header in zip(outer, are_headers):
    votes[round(line.y)] += 1 if is_header else -1
  for (lines, line, _), is_header in zip(outer, are_headers):
    if is_header or votes[round(line.y)] > 0:
      lines.remove(line)


def _texts(line: _Line, page: int) -> Iterator[str]:
  """Yields a line's height and text, also with its number less the page's."""
  yield f'{round(line.y)} {line.text}'
  for match in _NUMBER.finditer(line.text):
    number, (start, end) = int(match[0]) - page, match.span()
    yield f'{round(line.y)} {line.text[:start]}#{number}{line.text[end:]}'


def _paragraphs(lines: list[_Line], compounds: Collection[str]) -> str:
  """Returns one paragraph a line.

  Args:
    compounds: Words with a hyphen, which keep it at the end of a line.
  """
  pairs = [*itertools.pairwise(lines)]
  gaps = sorted((a.y - b.y) / b.size for a, b in pairs if a.y > b.y)
  usual = gaps[len(gaps) // 4] if gaps else 0.0

  def whole(match: re.Match) -> str:
    first, hyphen, second = match.groups()
    compound = f'{first}-{second}'
    keeps = hyphen == '-' and (compound in compounds or not second.islower())
    return compound if keeps else first + second

  marks = ['\n' if _begins(*pair, usual) else '\r' for pair in pairs]
  text = ''.join(
    line.text + mark for line, mark in zip(lines, [*marks, ''], strict=False)
  )
  return _DIVIDED.sub(whole, text).replace('\r', ' ')


def _begins(before: _Line, line: _Line, usual: float) -> bool:
  """Returns whether a line begins a paragraph after the line before."""
  gap, ends = before.y - line.y, bool(_END.search(before.text))
  if abs(before.size - line.size) > _SAME_SIZE * line.size:
    return True
  if gap < 0:  # The next column.
    return ends
  is_indented = line.x > before.x + _INDENT * line.size
  is_item = bool(_ITEM.match(line.text))
  return gap > _GAP * usual * line.size or is_item or (ends and is_indented)
