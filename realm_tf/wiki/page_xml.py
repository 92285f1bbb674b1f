"""Reads the pages of MediaWiki's XML in constant memory."""

from collections.abc import Iterator
import datetime
import re
from typing import BinaryIO, NamedTuple, Optional
from xml.parsers import expat

from realm_tf import errors

_CHUNK_BYTES = 1 << 14
_MAX_DEPTH = 6
# Elements whose text must be a number.
_NUMBERS = {
  'page/ns',
  'page/id',
  'page/revision/id',
  'page/revision/parentid',
  'page/revision/contributor/id',
}
_TIME = 'page/revision/timestamp'
_TEXT = 'page/revision/text'
_MODEL = 'page/revision/model'
_FORMAT = 'page/revision/format'
_NAMESPACE = 'siteinfo/namespaces/namespace'
_NEEDED = _NUMBERS | {'page/title', _TIME, _TEXT, _MODEL, _FORMAT, _NAMESPACE}
_NUMBER = re.compile(r'-?[0-9]{1,18}')


class RawPage(NamedTuple):
  """A page with the text of its newest revision.

  Attributes:
    title: Title with the namespace.
    namespace: 0 for articles.
    model: Content model of `text`, '' in old dumps.
    format: Media type of `text`, '' in old dumps.
    redirect: Title of the redirect's goal; None for other pages.
    problem: Error of a broken page, else None.
  """

  title: str = ''
  page_id: str = ''
  namespace: int = 0
  text: str = ''
  model: str = ''
  format: str = ''
  redirect: Optional[str] = None
  problem: Optional[errors.UserError] = None


class Site:
  """The wiki of a dump: language code or '', and names of namespaces by key."""

  def __init__(self) -> None:
    self.language = ''
    self.namespaces: dict[str, str] = {}

  def pattern(self, key: str) -> str:
    """Returns a regular expression for a namespace's name; '' if unknown."""
    name = self.namespaces.get(key, '')
    return re.escape(name).replace('_', r'\ ').replace(r'\ ', '[ _]')

  def namespace_of(self, title: str) -> str:
    """Returns the key of a title's namespace, for dumps without <ns>."""
    prefix, colon, _ = title.partition(':')
    keys = {name: key for key, name in self.namespaces.items()}
    return keys.get(prefix, '0') if colon else '0'


class _Handler:
  """Collects pages from expat's events."""

  def __init__(self, path: str, site: Site):
    self.pages: list[RawPage] = []
    self.title = ''  # The last page's title.
    self._file = path
    self._site = site
    self._stack: list[str] = []
    self._texts: dict[str, str] = {}
    self._text: list[str] = []
    self._redirect: Optional[str] = None
    self._key = ''
    self._line = 0
    self._problem = ''
    self.parser = expat.ParserCreate()
    self.parser.buffer_text = True
    self.parser.StartElementHandler = self._start
    self.parser.EndElementHandler = self._end
    self.parser.StartDoctypeDeclHandler = self._doctype

  def _start(self, name: str, attributes: dict[str, str]) -> None:
    name = name.rpartition(':')[2]
    if not self._stack:
      if name != 'mediawiki':
        raise ValueError(f'its root is <{name}>')
      self._site.language = attributes.get('xml:lang', '').partition('-')[0]
      self._stack.append('')
      return
    # Extending the parent's path keeps a deep document as fast as a flat one.
    path = f'{self._stack[-1]}/{name}'.lstrip('/')
    self._stack.append(path if len(self._stack) < _MAX_DEPTH else '/')
    if path == 'page':
      self._texts, self._redirect, self._problem = {}, None, ''
      self._line = self.parser.CurrentLineNumber
    elif path == 'page/revision':  # The last revision counts.
      for key in (_TEXT, _MODEL, _FORMAT):
        self._texts.pop(key, None)
    elif path == 'page/redirect':
      self._redirect = attributes.get('title', '')
    elif path == _NAMESPACE:
      self._key = attributes.get('key', '')
    if path in _NEEDED:
      self._text = []
      self.parser.CharacterDataHandler = self._text.append

  def _end(self, name: str) -> None:
    del name
    path = self._stack.pop()
    if path in _NEEDED:
      self.parser.CharacterDataHandler = None
      text = ''.join(self._text)
      if path == _NAMESPACE:
        self._site.namespaces[self._key] = text
      else:
        self._texts[path] = text
        self._check(path, text.strip())
    elif path == 'page':
      self.pages.append(self._page())

  def _check(self, path: str, text: str) -> None:
    if path in _NUMBERS and not _NUMBER.fullmatch(text):
      self._report(f"a number as a page's <{path.rpartition('/')[2]}>", text)
    elif path == _TIME:
      try:
        datetime.datetime.fromisoformat(text.removesuffix('Z'))
      except ValueError:
        self._report("a time as a page's <timestamp>", text)

  def _report(self, must: str, text: str) -> None:
    line = self.parser.CurrentLineNumber
    self._problem = self._problem or (
      f'{self._file}:{line} must have {must}. Found {text!r:.40}. Download '
      'the dump again.'
    )

  def _page(self) -> RawPage:
    texts, self._texts = self._texts, {}
    title = texts.get('page/title', '').replace('_', ' ').strip()
    for key, name in (('page/title', 'title'), ('page/id', 'id')):
      if not texts.get(key, '').strip() and not self._problem:
        self._problem = (
          f'{self._file}:{self._line} must begin a page with a <{name}>. '
          'Found none. Download the dump again.'
        )
    if self._problem:
      return RawPage(title, problem=errors.UserError(self._problem))
    self.title = title
    namespace = texts.get('page/ns', '').strip()
    return RawPage(
      title=title,
      page_id=texts['page/id'].strip(),
      namespace=int(namespace or self._site.namespace_of(title)),
      text=texts.get(_TEXT, ''),
      model=texts.get(_MODEL, '').strip(),
      format=texts.get(_FORMAT, '').strip(),
      redirect=self._redirect,
    )

  def _doctype(self, *names) -> None:
    del names
    raise ValueError('it declares a document type, which no dump does')


def read(file: BinaryIO, path: str, site: Site) -> Iterator[RawPage]:
  """Yields all pages of a dump, including broken ones; fills `site`."""
  handler = _Handler(path, site)
  chunk = b'-'
  while chunk:
    chunk, problem = file.read(_CHUNK_BYTES), None
    try:
      handler.parser.Parse(chunk, not chunk)
    except (expat.ExpatError, LookupError, ValueError) as error:
      problem = error
    pages, handler.pages = handler.pages, []
    yield from pages
    if problem:
      title = handler.title
      where = f'after page {title!r}' if title else 'at its beginning'
      raise errors.UserError(
        f'{path} must be a MediaWiki dump in XML. Found {where}: {problem}. '
        'Download it again.'
      ) from problem
