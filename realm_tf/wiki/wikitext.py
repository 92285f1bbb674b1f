"""Wikitext -> the words that a reader sees, in one pass and in linear time.

Templates, links, tables and tags are evaluated when they close, innermost
first, so no text is read twice. Unclosed markup loses its marks.
"""

import re
from typing import Optional, cast

from realm_tf.wiki import html_text
from realm_tf.wiki import wiki_links
from realm_tf.wiki import wiki_templates
from realm_tf.wiki.holes import HOLE
from realm_tf.wiki.holes import LOST

_TOKEN = re.compile(
  r"""
  (?P<comment><!--)
  |(?P<tag></?[a-zA-Z][a-zA-Z0-9]*(?:[\s/][^<>]*)?>)
  |(?P<open>\{\{+)
  |(?P<close>\}\}+)
  |(?P<link>\[\[)
  |(?P<end>\]\]?)
  |(?P<address>\[(?:(?:https?|ftps?|irc|news|mailto|git|gopher):|//)[^\s\]<>|]*)
  |(?P<table>(?:^|(?<=\n))[ :*\#]{0,20}\{\|[^\n]*)
  |(?P<table_end>(?:^|(?<=\n))[ ]{0,20}\|\}(?!\}))
  |(?P<bar>\|)
  |(?P<line>\n)
  """,
  re.VERBOSE,
)
_MAX_DEPTH = 40  # MediaWiki's limit; bounds how often a character is copied.
_MAX_LINK_LINES = 30  # An unclosed link ends here.
# Stand for '=' and '|' in the results of templates, which may be arguments of
# others.
_EQUALS, _BAR = '\ue001', '\ue002'
_RESTORE = str.maketrans({_EQUALS: '=', _BAR: None})
_RAW = html_text.HIDDEN | html_text.FORMULAS | {'nowiki'}
_POWER = re.compile(r'\^(\d)')
_SIMPLE_FORMULA = re.compile(r'[\w +=<>.,()^*!−-]{1,40}')


class _Frame:
  """Open markup: its kind, its finished parts and the current one."""

  __slots__ = ('kind', 'parts', 'part', 'num_lines')

  def __init__(self, kind: str):
    self.kind = kind
    self.parts: list[str] = []
    self.part: list[str] = []
    self.num_lines = 0


class _Reader:
  """The stack of open markup; text is added to the innermost."""

  def __init__(self) -> None:
    self._frames = [_Frame('page')]
    self._depths = dict.fromkeys(
      ('template', 'parameter', 'link', 'address', 'table', 'html_table'), 0
    )

  def add(self, text: str) -> None:
    self._frames[-1].part.append(text)

  def open(self, kind: str) -> None:
    if len(self._frames) <= _MAX_DEPTH:
      self._depths[kind] += 1
      self._frames.append(_Frame(kind))

  def is_link_on_top(self) -> bool:
    """Returns whether ']]' ends a link inside the innermost template."""
    for frame in reversed(self._frames):
      if frame.kind not in ('address', 'link'):
        return False
      if frame.kind == 'link':
        return True
    return False

  def is_open(self, *kinds: str) -> bool:
    return any(self._depths[kind] for kind in kinds)

  def top(self) -> str:
    return self._frames[-1].kind

  def bar(self) -> None:
    frame = self._frames[-1]
    if frame.kind in ('template', 'parameter', 'link'):
      frame.parts.append(''.join(frame.part))
      frame.part = []
    else:
      frame.part.append('|')

  def line(self) -> None:
    """Ends addresses and links that may not continue in the next line."""
    while self.top() == 'address' or (
      self.top() == 'link' and not self._frames[-1].parts
    ):
      self.give_up()
    frame = self._frames[-1]
    frame.num_lines += 1
    if frame.kind == 'link' and frame.num_lines > _MAX_LINK_LINES:
      self.give_up()
    self.add('\n')

  def give_up(self) -> None:
    """Replaces the innermost markup, which has no end, by its text."""
    kind, parts = self._pop()
    if kind == 'link':
      text = wiki_links.unclosed(parts)
    elif kind in ('template', 'parameter'):
      # The line of the mark is no sentence, but the next lines may be.
      _, newline, rest = '|'.join(parts).partition('\n')
      text = HOLE + newline + rest
    else:
      text = '|'.join(parts)
    self.add(text)

  def close(self, *kinds: str) -> str:
    """Evaluates the innermost markup of `kinds`; returns its kind or ''."""
    if not self.is_open(*kinds):
      return ''
    while self.top() not in kinds:
      self.give_up()
    kind, parts = self._pop()
    if kind == 'link':
      self.add(wiki_links.words(parts))
    elif kind == 'address':
      self.add(''.join(parts).strip())
    elif kind == 'template':
      self.add(wiki_templates.evaluate(parts).replace('=', _EQUALS))
    elif kind == 'parameter':
      self.add(parts[1] if len(parts) > 1 else HOLE)
    return kind

  def open_braces(self, number: int) -> None:
    if number == 3:
      self.open('parameter')
    else:
      for _ in range(min(number // 2, _MAX_DEPTH)):
        self.open('template')

  def close_braces(self, number: int) -> None:
    while number >= 2 and self.is_open('template', 'parameter'):
      number -= 3 if self.close('template', 'parameter') == 'parameter' else 2

  def end(self, token: str) -> int:
    """Reads ']' or ']]'; returns the number of characters to read again."""
    if self.top() == 'address':
      self.close('address')
      return len(token) - 1
    if token == ']]' and self.is_link_on_top():
      self.close('link')
    elif token == ']':
      self.add(token)
    return 0

  def finish(self) -> str:
    while len(self._frames) > 1:
      self.give_up()
    return ''.join(self._frames[0].part).translate(_RESTORE)

  def _pop(self) -> tuple[str, list[str]]:
    """Removes the innermost markup; returns its kind and its parts."""
    frame = self._frames.pop()
    self._depths[frame.kind] -= 1
    return frame.kind, [*frame.parts, ''.join(frame.part)]


def read(markup: str) -> str:
  """Returns words, lists, headings and bold type; HOLE and LOST mark gaps."""
  if '<sup' in markup:
    markup = html_text.raise_exponents(markup)
  reader, tags = _Reader(), _Tags(markup)
  position = 0
  while match := _TOKEN.search(markup, position):
    if match.start() > position:
      reader.add(markup[position : match.start()])
    position = match.end()
    kind, token = str(match.lastgroup), match.group()
    if kind == 'bar':
      reader.bar()
    elif kind == 'line':
      reader.line()
    elif kind == 'open':
      reader.open_braces(len(token))
    elif kind == 'close':
      reader.close_braces(len(token))
    elif kind == 'end':
      position -= reader.end(token)
    elif kind == 'tag':
      position = tags.read(match, reader)
    elif kind == 'comment':
      end = tags.find('-->', position)
      position = end.end() if end else len(markup)
    elif kind == 'table_end':
      reader.close('table')
    else:
      if kind == 'address' and reader.top() == 'address':
        reader.give_up()
      reader.open(kind)
  reader.add(markup[position:])
  return reader.finish()


class _Tags:
  """Reads tags; searches for a missing end only once."""

  def __init__(self, markup: str):
    self._markup = markup
    self._missing: set[str] = set()

  def find(self, mark: str, start: int) -> Optional[re.Match]:
    if mark in self._missing:
      return None
    found = re.compile(mark, re.IGNORECASE).search(self._markup, start)
    if not found:
      self._missing.add(mark)
    return found

  def read(self, match: re.Match, reader: _Reader) -> int:
    """Adds the words of the tag `match`; returns its end in the markup."""
    tag = cast(re.Match, html_text.TAG.match(match.group()))
    is_end, name = tag.group(1), tag.group(2).lower()
    start = match.end()
    if name == 'table':
      reader.close('html_table') if is_end else reader.open('html_table')
    elif is_end or tag.group(3).endswith('/') or name not in _RAW:
      reader.add(html_text.value_of(tag))
    else:
      end = self.find(rf'</{name}\s{{0,9}}>', start)
      if not end:  # A note without an end ends with its line.
        line = self._markup.find('\n', start) if name == 'ref' else start
        return line if line >= 0 else len(self._markup)
      body = self._markup[start : end.start()]
      if name == 'nowiki':
        reader.add(body)
      elif name in html_text.FORMULAS:
        word = self._markup[match.start() - 1 : match.start()].isalnum()
        reader.add(HOLE if word else _formula(body))
      elif name in ('gallery', 'pre'):
        reader.add('\n')
      return end.end()
    return start


def _formula(text: str) -> str:
  """Returns a formula in plain characters, 'E=mc²'; LOST for others."""
  if not _SIMPLE_FORMULA.fullmatch(text.strip()):
    return LOST
  return _POWER.sub(
    lambda match: html_text.raised(match.group(1)), text.strip()
  )
