"""Reads MediaWiki's XML dumps: dump -> pages (mwxml) -> articles (`wikitext`).

Only this file imports mwxml. Pages are rendered in worker processes; one that
takes too long, or is too large, is left out, counted and named.
"""

from collections.abc import Iterable, Iterator
import re
from typing import Any, BinaryIO
import xml.etree.ElementTree

from absl import logging
import mwxml
from mwxml import element_iterator
from mwxml.iteration import site_info

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import parallel
from realm_tf.corpus import wikitext

_Article = article_records.Article
_PAGES_AHEAD = 16  # Per worker; some pages take 100 times longer than others.
_REDIRECT = re.compile(
  r'\s{0,99}#\s{0,9}(?:redirect|redirection|weiterleitung|redirección|rinvia|'
  r'doorverwijzing|redirecionamento|patrz|перенаправление|omdirigering)'
  r'\s{0,9}:?\s{0,9}\[\[:?([^\[\]|#\n]{1,255})',
  re.IGNORECASE,
)
# Key of a namespace -> its name that wikis of all languages accept.
_NAMESPACES = {-2: 'Media', 6: 'File', 14: 'Category'}
_PAGE_NAME = re.compile(r'\{\{\s?(?:FULL|BASE|SUB)?PAGENAMEE?\s?\}\}')
_HEAD_BYTES = 1 << 12
# A wiki's own names of these: expression -> the name that all accept.
_Names = dict[re.Pattern, str]


def read_articles(
  path: str, counts: counts_lib.Counts
) -> Iterator[article_records.Article]:
  """Yields the articles of a dump as wikitext; counts the other pages."""
  with files.reading(path) as file:
    for page, content, names in _pages(file, path, counts):
      text = (content and content.text) or ''
      match = _REDIRECT.match(text)
      goal = page.redirect or (match[1].strip() if match else '')
      if goal:
        counts.on_redirect(page.title, goal)
      kind = content and (content.model, content.format)
      if kind and not {*kind} <= {None, 'wikitext', 'text/x-wiki'}:
        counts.drop('content model')
      elif page.namespace != 0:
        counts.drop('namespace')
      elif goal:
        counts.drop('redirect')
      elif not text.strip():
        counts.drop(counts_lib.EMPTY)
      else:
        for pattern, name in names.items():
          text = pattern.sub(rf'\1{name}:', text)
        title, page_id = page.title.strip(), str(page.id)
        text = _PAGE_NAME.sub(title.replace('\\', r'\\'), text)
        yield article_records.Article(title, text, page_id, is_wikitext=True)


def rendered(
  articles: Iterable[tuple[str, _Article]],
  counts: counts_lib.Counts,
  num_workers: int,
  max_seconds: float = 10.0,
) -> Iterator[tuple[str, _Article]]:
  """Yields (place, article in plain text), in order; counts those left out.

  Args:
    num_workers: Number of processes, which start at the first wikitext.
    max_seconds: Longest time of a page.
  """
  limit = parallel.Limit(
    max_seconds,
    instead=lambda placed, reason: (placed[0], f'page that {reason}'),
    applies=lambda placed: placed[1].is_wikitext,
    ahead=_PAGES_AHEAD,
  )
  for where, found in parallel.ordered_map(
    wikitext.renderer, (), articles, num_workers, limit
  ):
    if isinstance(found, str):
      counts.drop(found)
      if found != wikitext.DISAMBIGUATION:
        logging.warning('Left out: %s, %s.', where, found)
    else:
      yield where, found


def _pages(
  file: BinaryIO, path: str, counts: counts_lib.Counts
) -> Iterator[tuple[mwxml.Page, Any, _Names]]:
  """Yields (page, content of its last revision or None, foreign namespaces)."""
  title, number = '', 0
  names: _Names = {}
  keys: dict[str, Any] = {}
  try:
    if b'<!DOCTYPE' in file.read(_HEAD_BYTES):
      raise ValueError('it declares a document type, which no dump does')
    file.seek(0)
    root = element_iterator.ElementIterator.from_file(file)
    if root.tag != 'mediawiki':
      raise ValueError(f'its root is <{root.tag}>')
    for element in root:
      if element.tag == 'siteinfo':
        site = site_info.SiteInfo.from_element(element)
        keys = {each.name: each for each in site.namespaces or ()}
        names = {
          _prefix(key): _NAMESPACES[namespace.id]
          for key, namespace in keys.items()
          if key and namespace.id in _NAMESPACES
        }
      elif element.tag == 'page':
        number += 1
        found = _page(element, keys, f'{path}, page {number},', counts)
        if found:
          title = found[0].title
          yield *found, names
      root.element.clear()  # Else memory grows with each of 20 million pages.
  except (
    mwxml.errors.MalformedXML,
    xml.etree.ElementTree.ParseError,
    LookupError,
    ValueError,
  ) as error:
    where = f'after page {title!r}' if title else 'at its beginning'
    raise errors.UserError(
      f'{path} must be a MediaWiki dump in XML. Found {where}: {error}. '
      'Download it again.'
    ) from error


def _prefix(name: str) -> re.Pattern:
  """Returns the expression of a link to a namespace of this name."""
  own = re.escape(name).replace('_', r'\ ').replace(r'\ ', '[ _]')
  return re.compile(rf'(\[\[\s?:?)(?:{own})\s?:', re.IGNORECASE)


def _page(
  element: Any, keys: dict[str, Any], where: str, counts: counts_lib.Counts
) -> tuple[mwxml.Page, Any] | None:
  """Returns a page and its newest content; None for a bad page, as counted."""
  try:
    page = mwxml.Page.from_element(element, keys)
    if not page.title.strip() or page.id is None:
      raise ValueError('no title or no id')
    content = None
    for revision in page:
      content = revision.slots.contents['main']
    return page, content
  except xml.etree.ElementTree.ParseError:
    raise
  except Exception as error:  # mwxml raises many types.
    counts.error(
      errors.UserError(
        f'{where} must have a title, and numbers and times in their fields. '
        f'Found: {str(error)[:80]}. Download the dump again.'
      )
    )
    return None
