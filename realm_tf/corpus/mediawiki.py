"""Reads MediaWiki's XML dumps and removes markup.

dump -> pages (page_xml) -> plain text (wikitext, wiki_templates, holes)
"""

from collections.abc import Iterator
import re
from typing import BinaryIO, NamedTuple, Optional

from realm_tf.corpus import counts as counts_lib
from realm_tf.wiki import disambiguation
from realm_tf.wiki import holes
from realm_tf.wiki import html_text
from realm_tf.wiki import page_xml
from realm_tf.wiki import wiki_templates
from realm_tf.wiki import wikitext

_REDIRECT = re.compile(
  r'\s{0,99}#\s{0,9}(?:redirect|redirection|weiterleitung|redirección|rinvia|'
  r'doorverwijzing|redirecionamento|patrz|перенаправление|omdirigering)'
  r'\s{0,9}:?\s{0,9}\[\[:?([^\[\]|#\n]{1,255})',
  re.IGNORECASE,
)
# MediaWiki's namespaces of files and categories have these names everywhere.
_NAMESPACES = {'-2': 'Media', '6': 'File', '14': 'Category'}
_PAGE_NAME = re.compile(r'\{\{\s?(?:FULL|BASE|SUB)?PAGENAMEE?\s?\}\}')
_FORMATTED = re.compile(r'\{\{\s?formatnum:([^{}|]{1,40})\}\}', re.IGNORECASE)

_BEHAVIOR_SWITCH = re.compile(r'__[A-Z]{3,}__')
_ADDRESS = re.compile(r'\b(?:https?|ftp)://[^\s<>\[\]|"]*[^\s<>\[\]|".,;:!?)]')
# Remains of markup that is not closed.
_OPEN_REF = re.compile(r'<ref\b[^\n]*', re.IGNORECASE)
_OPEN_MARKUP = re.compile(
  r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|''+|<!--|-->|<nowiki/?"
)
_ODD_LINE = re.compile(r'[|]|!($|[^\w])|(file|image):[^|\n]*\|', re.IGNORECASE)
_LINE_MARKS = frozenset('=*#:;-|!fFiI')
_HAS_WORD = re.compile(r'\w')
_ITEM = re.compile(r'^(?:[*#:;]+|-{4,})\s*')
_SPACES = re.compile(r'[^\S\n]+')
# Remains of a removed template in brackets: '( ; born 1900)'. A run of marks is
# entered at its beginning only, or the time is quadratic in its length.
_EMPTY_BRACKETS = re.compile(r' ?[(\[][ ,;:–-]*[)\]]')
_BRACKET_START = re.compile(r'([(\[])[ ,;:]+')
_BRACKET_END = re.compile(r'(?<![ ,;:])[ ,;:]+([)\]])')
_SPACE_BEFORE_MARK = re.compile(r'(?<! ) +([,.;:!?)])')
_DOUBLE_MARK = re.compile(r'([,;])[,;]+')


class Page(NamedTuple):
  """A page of a dump.

  Attributes:
    title: Title with the namespace.
    markup: Newest revision as written.
    page_id: MediaWiki's id.
    drop_reason: Why the page is not an article; '' if it is one.
    redirect: Title of the page that it redirects to, or ''.
  """

  title: str
  markup: str
  page_id: str
  drop_reason: str = ''
  redirect: str = ''


def read_pages(
  file: BinaryIO, path: str, counts: Optional[counts_lib.Counts] = None
) -> Iterator[Page]:
  """Yields all pages of a dump, including those that are not articles.

  Raises:
    UserError: The file at `path` is not a dump, or ends too early. A page is
      broken, and `counts` does not skip it.
  """
  counts = counts or counts_lib.Counts()
  site = page_xml.Site()
  for page in page_xml.read(file, path, site):
    if page.problem:
      counts.error(page.problem)
    else:
      yield _page(page, site)


def plain_text(markup: str) -> str:
  """Returns the text of a page, one paragraph or list item a line.

  Links are replaced by their words. Headings, tables, references, comments,
  files and templates are removed, except templates that hold words or numbers
  of a sentence. A sentence that lacks a word afterwards is removed.
  """
  text = wikitext.read(markup, wiki_templates.evaluate)
  text = html_text.strip_tags(html_text.unescape(text))
  for pattern, value in (
    (_ADDRESS, holes.HOLE),
    (_OPEN_REF, ''),
    (_OPEN_MARKUP, ''),
    (_BEHAVIOR_SWITCH, ''),
    (_SPACES, ' '),
  ):
    text = pattern.sub(value, text)
  text = holes.cut('\n'.join(filter(None, map(_line, text.split('\n')))))
  for pattern, value in (
    (_EMPTY_BRACKETS, ''),
    (_BRACKET_START, r'\1'),
    (_BRACKET_END, r'\1'),
    (_SPACE_BEFORE_MARK, r'\1'),
    (_DOUBLE_MARK, r'\1'),
    (_SPACES, ' '),
  ):
    text = pattern.sub(value, text)
  lines = (line.strip() for line in text.split('\n'))
  return '\n'.join(line for line in lines if _HAS_WORD.search(line))


def _line(line: str) -> str:
  """Returns a line without its marks; '' for a heading or a table's line."""
  line = line.strip()
  if line[:1] in _LINE_MARKS:
    if line[0] == '=' and line.rstrip(f' {holes.HOLE}')[-1:] == '=':
      return ''
    if _ODD_LINE.match(line):
      return ''
    line = _ITEM.sub('', line, count=1)
  return line


def _page(page: page_xml.RawPage, site: page_xml.Site) -> Page:
  markup, goal = page.text, page.redirect
  match = _REDIRECT.match(markup)
  if goal is None and match:
    goal = match.group(1).strip()
  reason = ''
  if page.model not in ('', 'wikitext') or page.format not in (
    '',
    'text/x-wiki',
  ):
    reason = 'content model'
  elif page.namespace != 0:
    reason = 'namespace'
  elif goal is not None:
    reason = 'redirect'
  elif disambiguation.is_one(markup, site.pattern('14')):
    reason = 'disambiguation'
  elif not markup.strip():
    reason = 'empty'
  if not reason:
    markup = _in_english(markup, page.title, site)
  return Page(page.title, markup, page.page_id, reason, goal or '')


def _in_english(markup: str, title: str, site: page_xml.Site) -> str:
  """Replaces what only the dump can tell: its names, the page's title."""
  for key, name in _NAMESPACES.items():
    names = site.pattern(key)
    if names:
      markup = re.sub(
        rf'(\[\[\s?:?)(?:{names})\s?:', rf'\1{name}:', markup, flags=re.I
      )
  if 'PAGENAME' in markup:
    markup = _PAGE_NAME.sub(lambda match: title, markup)
  if site.language not in ('', 'en', 'simple'):
    markup = _FORMATTED.sub(r'\1', markup)  # Its marks are those of English.
  return markup
