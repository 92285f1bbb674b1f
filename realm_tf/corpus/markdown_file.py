"""Reads Markdown by markdown-it-py, which only this file imports."""

from collections.abc import Iterator
import re
from typing import Any

import markdown_it

from realm_tf.corpus import article_records
from realm_tf.corpus import documents

_FRONT = re.compile(r'\A---[ \t]*\n(.*?\n)---[ \t]*\n', re.DOTALL)
_TITLE = re.compile(r'^title:[ \t]*(.+)$', re.MULTILINE)
_TAG = re.compile(r'<!--.*?-->|<[^<>]*>', re.DOTALL)


def read(path: str, content: bytes) -> list[article_records.Article]:
  """Returns the sections; the title may be in a first part between lines ---.

  Links leave their words, pictures nothing.
  """
  text = content.decode('utf-8-sig').replace('\r\n', '\n')
  front = _FRONT.match(text)
  title = _TITLE.search(front[1]) if front else None
  return documents.sections(
    path,
    title[1].strip(' \t"\'') if title else '',
    _parts(text[front.end() :] if front else text),
  )


def _parts(text: str) -> Iterator[tuple[int, str]]:
  level, cells, is_row = 0, [], False
  parser = markdown_it.MarkdownIt('commonmark').enable('table')
  for token in parser.parse(text):
    if token.type == 'heading_open':
      level = int(token.tag[1])
    elif token.type == 'tr_open':
      cells, is_row = [], True
    elif token.type == 'tr_close':
      yield 0, ' | '.join(cells)
      is_row = False
    elif token.type == 'inline':
      words = ''.join(map(_words, token.children or ()))
      cells.append(words)
      yield level, words * (not is_row)
      level = 0
    elif token.type == 'html_block':
      yield 0, _TAG.sub('', token.content)
    else:  # Of code each line; others have no content.
      yield from ((0, line) for line in token.content.split('\n'))


def _words(token: Any) -> str:
  if token.type in ('softbreak', 'hardbreak'):
    return ' '
  return token.content if token.type in ('text', 'code_inline') else ''
