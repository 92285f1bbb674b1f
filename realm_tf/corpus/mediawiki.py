"""Reads MediaWiki's XML dumps and removes markup.

  dump -> pages (mwxml) -> plain text (mwparserfromhell)

The only import of both packages.
"""

from collections.abc import Iterator
import re
from typing import BinaryIO, NamedTuple
import xml.etree.ElementTree

import mwparserfromhell
from mwparserfromhell import nodes
import mwxml
from mwxml import element_iterator

from realm_tf import errors

# Tags whose contents are not sentences of the article.
_DROPPED_TAGS = frozenset(
  """
  categorytree ce chem code gallery graph hiero imagemap inputbox math noinclude
  pre ref references score section source syntaxhighlight table templatedata
  templatestyles timeline
  """.split()
)
_LINE_TAGS = frozenset('br dd dt hr li p blockquote div poem td th tr'.split())
_DROPPED_LINKS = re.compile(r':?\s*(file|image|media|category)\s*:', re.I)
_LANGUAGE_LINK = re.compile(r'[a-z]{2,3}(-[a-z-]+)?:')
# Templates that only format text -> numbers of the parameters with the text.
# Without them sentences have holes: 'It is above sea level.'
_TEXT_PARAMETERS = {
  "'s": (),
  'angbr': (1,),
  'convert': (1, 2),
  'cvt': (1, 2),
  'lang': (2,),
  'nihongo': (1,),
  'nobreak': (1,),
  'nobr': (1,),
  'nowrap': (1,),
  'nts': (1,),
  'quote': (1,),
  'small': (1,),
  'smaller': (1,),
  'transl': (-1,),
  'transliteration': (-1,),
  'val': (1,),
}
_DISAMBIGUATION = re.compile(
  r'\{\{\s*(disambig|disambiguation|dab|hndis|geodis|surname|given name)'
  r'[^{}]*\}\}',
  re.I,
)
_BEHAVIOR_SWITCH = re.compile(r'__[A-Z]+__')
# Remains of markup that is not closed.
_OPEN_REF = re.compile(r'<ref\b[^\n]*')
_OPEN_MARKUP = re.compile(r"\[\[|\]\]|\{\{+|\}\}+|\{\||\|\}|'''?|</?\w+[^<>]*>")
_ODD_LINE = re.compile(r'^\s*([|!]|(file|image):.*\|)[^\n]*$', re.M | re.I)
# Remains of a removed template in brackets: '( ; born 1900)'.
_EMPTY_BRACKETS = re.compile(r'\s*[(\[][\s,;:–-]*[)\]]')
_BRACKET_START = re.compile(r'([(\[])[\s,;:]+')
_BRACKET_END = re.compile(r'[\s,;:]+([)\]])')
_SPACES = re.compile(r'[^\S\n]+')
_DOUBLE_MARK = re.compile(r'([,;])[,;]+')
_SPACE_BEFORE_MARK = re.compile(r' +([,.;:!?)])')


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


def read_pages(file: BinaryIO, path: str) -> Iterator[Page]:
  """Yields all pages of a dump, including those that are not articles.

  Raises:
    UserError: The file at `path` is not a dump, or ends too early.
  """
  title = ''
  try:
    root = element_iterator.ElementIterator.from_file(file)
    if root.tag != 'mediawiki':
      raise mwxml.errors.MalformedXML(f'its root is <{root.tag}>')
    for page in mwxml.Dump.from_element(root).pages:
      title = page.title
      newest = ''
      for revision in page:
        newest = revision.text or ''
      reason = _drop_reason(page, newest)
      yield Page(title, newest, str(page.id), reason, page.redirect or '')
      root.element.clear()  # Else memory grows with each of 20 million pages.
  except (mwxml.errors.MalformedXML, xml.etree.ElementTree.ParseError) as error:
    where = f'after page {title!r}' if title else 'at its beginning'
    raise errors.UserError(
      f'{path} must be a MediaWiki dump in XML; {where} it is not: {error}. '
      'Download it again.'
    ) from error


def plain_text(markup: str) -> str:
  """Returns the text of a page, one paragraph or list item a line.

  Links are replaced by their words. Headings, tables, references, comments,
  files and templates are removed, except templates that only format text.
  """
  text = ''.join(_pieces(mwparserfromhell.parse(markup)))
  for pattern, value in (
    (_OPEN_REF, ''),
    (_OPEN_MARKUP, ''),
    (_ODD_LINE, ''),
    (_BEHAVIOR_SWITCH, ''),
    (_SPACES, ' '),
    (_EMPTY_BRACKETS, ''),
    (_BRACKET_START, r'\1'),
    (_BRACKET_END, r'\1'),
    (_SPACE_BEFORE_MARK, r'\1'),
    (_DOUBLE_MARK, r'\1'),
  ):
    text = pattern.sub(value, text)
  lines = (line.strip() for line in text.split('\n'))
  return '\n'.join(line for line in lines if line)


def _drop_reason(page: mwxml.Page, markup: str) -> str:
  if page.namespace != 0:
    return 'namespace'
  if page.redirect:
    return 'redirect'
  if _DISAMBIGUATION.search(markup):
    return 'disambiguation'
  return '' if markup else 'empty'


def _pieces(code) -> Iterator[str]:
  for node in code.nodes:
    yield from _PIECES.get(type(node), _nothing)(node)


def _nothing(node) -> Iterator[str]:
  del node
  return iter(())


def _of_text(node) -> Iterator[str]:
  yield node.value


def _of_entity(node) -> Iterator[str]:
  yield node.normalize()


def _of_link(node) -> Iterator[str]:
  title = str(node.title)
  if _DROPPED_LINKS.match(title):
    return
  if node.text is not None:
    yield from _pieces(node.text)
  elif not _LANGUAGE_LINK.match(title):
    yield from _pieces(node.title)


def _of_external_link(node) -> Iterator[str]:
  if node.title is not None:
    yield from _pieces(node.title)


def _of_tag(node) -> Iterator[str]:
  tag = str(node.tag).strip().lower()
  if tag in _DROPPED_TAGS:
    return
  if tag in _LINE_TAGS and not node.wiki_markup:
    yield '\n'
  if node.contents is not None:
    yield from _pieces(node.contents)


def _of_template(node) -> Iterator[str]:
  name = str(node.name).strip().lower()
  if name not in _TEXT_PARAMETERS:
    return
  if name == "'s":
    yield "'s"
  unnamed = [p.value for p in node.params if not p.showkey]
  values = []
  for position in _TEXT_PARAMETERS[name]:
    index = position - 1 if position > 0 else len(unnamed) + position
    if 0 <= index < len(unnamed):
      values.append(''.join(_pieces(unnamed[index])).strip())
  yield ' '.join(values)


_PIECES = {
  nodes.Text: _of_text,
  nodes.HTMLEntity: _of_entity,
  nodes.Wikilink: _of_link,
  nodes.ExternalLink: _of_external_link,
  nodes.Tag: _of_tag,
  nodes.Template: _of_template,
}
