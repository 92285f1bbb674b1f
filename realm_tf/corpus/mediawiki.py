"""Reads MediaWiki's XML dumps and removes markup."""

from collections.abc import Iterator
import re

from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.wiki import disambiguation
from realm_tf.wiki import holes
from realm_tf.wiki import html_text
from realm_tf.wiki import page_xml
from realm_tf.wiki import wikitext

_REDIRECT = re.compile(
  r'\s{0,99}#\s{0,9}(?:redirect|redirection|weiterleitung|redirección|rinvia|'
  r'doorverwijzing|redirecionamento|patrz|перенаправление|omdirigering)'
  r'\s{0,9}:?\s{0,9}\[\[:?([^\[\]|#\n]{1,255})',
  re.IGNORECASE,
)
# Key of a namespace -> its name that wikis of all languages accept.
_NAMESPACES = {'-2': 'Media', '6': 'File', '14': 'Category'}
_PAGE_NAME = re.compile(r'\{\{\s?(?:FULL|BASE|SUB)?PAGENAMEE?\s?\}\}')
_FORMATTED = re.compile(r'\{\{\s?formatnum:([^{}|]{1,40})\}\}', re.IGNORECASE)

_SPACES = re.compile(r'[^\S\n]+')
_BEFORE_LINES = (
  (
    re.compile(r'\b(?:https?|ftp)://[^\s<>\[\]|"]*[^\s<>\[\]|".,;:!?)]'),
    holes.HOLE,
  ),
  # Markup that is not closed.
  (re.compile(r'<ref\b[^\n]*', re.IGNORECASE), ''),
  (re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|''+|<!--|-->|<nowiki/?"), ''),
  (re.compile(r'__[A-Z]{3,}__'), ''),  # Behavior switches.
  (_SPACES, ' '),
)
# A removed template may leave '( ; born 1900)'. A run of marks matches only at
# its first mark, or the time would be quadratic in its length.
_AFTER_LINES = (
  (re.compile(r' ?[(\[][ ,;:–-]*[)\]]'), ''),
  (re.compile(r'([(\[])[ ,;:]+'), r'\1'),
  (re.compile(r'(?<![ ,;:])[ ,;:]+([)\]])'), r'\1'),
  (re.compile(r'(?<! ) +([,.;:!?)])'), r'\1'),
  (re.compile(r'([,;])[,;]+'), r'\1'),
  (_SPACES, ' '),
)
_ODD_LINE = re.compile(r'[|]|!($|[^\w])|(file|image):[^|\n]*\|', re.IGNORECASE)
_LINE_MARKS = frozenset('=*#:;-|!fFiI')
# [[Title]], [[Title|words]] and [[Title#Section|words]].
_LINK = re.compile(r'\[\[:?([^\[\]|#<>{}\n]+)(?=[|#]|\]\])')
_HAS_WORD = re.compile(r'\w')
_ITEM = re.compile(r'^(?:[*#:;]+|-{4,})\s*')


def read_articles(
  path: str, counts: counts_lib.Counts
) -> Iterator[article_records.Article]:
  """Yields the articles of a dump as wikitext; counts the other pages."""
  site = page_xml.Site()
  with files.reading(path) as file:
    for page in page_xml.read(file, path, site):
      if page.problem:
        counts.error(page.problem)
        continue
      match = _REDIRECT.match(page.text)
      goal = page.redirect
      if goal is None and match:
        goal = match.group(1).strip()
      if goal:
        counts.on_redirect(page.title, goal)
      reason = _drop_reason(page, goal is not None, site)
      if reason:
        counts.drop(reason)
      else:
        text = _in_english(page.text, page.title, site)
        yield article_records.Article(
          page.title, text, page.page_id, is_wikitext=True
        )


def normal_title(title: str) -> str:
  """Returns a title as MediaWiki compares it: 'the_rain ' is 'The rain'."""
  title = ' '.join(title.replace('_', ' ').split())
  return title[:1].upper() + title[1:]


def linked_titles(markup: str) -> list[str]:
  """Returns the normal titles that wikitext links to, in order.

  Links to other namespaces and wikis are included; no article has such a title.
  """
  titles = map(html_text.unescape, _LINK.findall(markup))
  return [*map(normal_title, titles)]


def plain_text(markup: str) -> str:
  """Returns the text of a page, one paragraph or list item a line.

  Links and known templates are replaced by their words. Headings, tables,
  references, comments, files and sentences that lose a word are removed.
  """
  text = wikitext.read(markup)
  text = html_text.strip_tags(html_text.unescape(text))
  for pattern, value in _BEFORE_LINES:
    text = pattern.sub(value, text)
  text = holes.cut('\n'.join(filter(None, map(_line, text.split('\n')))))
  for pattern, value in _AFTER_LINES:
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


def _drop_reason(
  page: page_xml.RawPage, is_redirect: bool, site: page_xml.Site
) -> str:
  """Returns why a page is not an article; '' if it is one."""
  kind = page.model, page.format
  if kind[0] not in ('', 'wikitext') or kind[1] not in ('', 'text/x-wiki'):
    return 'content model'
  if page.namespace != 0:
    return 'namespace'
  if is_redirect:
    return 'redirect'
  if disambiguation.is_one(page.text, site.pattern('14')):
    return 'disambiguation'
  return '' if page.text.strip() else 'empty'


def _in_english(markup: str, title: str, site: page_xml.Site) -> str:
  """Replaces the dump's own namespaces and the title variable."""
  for key, name in _NAMESPACES.items():
    names = site.pattern(key)
    if names:
      markup = re.sub(
        rf'(\[\[\s?:?)(?:{names})\s?:', rf'\1{name}:', markup, flags=re.I
      )
  if 'PAGENAME' in markup:
    markup = _PAGE_NAME.sub(lambda match: title, markup)
  if site.language not in ('', 'en', 'simple'):
    markup = _FORMATTED.sub(r'\1', markup)  # Else English commas would appear.
  return markup
