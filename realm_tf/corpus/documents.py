"""PDF, DOCX, HTML and Markdown -> articles, one for each page or section.

  file -> [worker process: NAME_file.py] -> articles, or why there are none

Some files take their library minutes, or all memory. A worker process has a
limit of both. It loads no TensorFlow, nor does this file.
"""

from collections.abc import Callable, Iterable, Iterator
import contextlib
import importlib
import importlib.util
import logging as python_logging
import os
import re
import resource
from typing import Any

from absl import logging

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import parallel

# Format -> its package; a module NAME_file.py for each is the package's only
# importer.
_PACKAGES = {
  'pdf': 'pypdfium2',
  'docx': 'docx',
  'html': 'trafilatura',
  'markdown': 'markdown_it',
}
FORMATS = tuple(_PACKAGES)
# Kind of content -> its format, or why it is left out.
_FORMAT_OF = {
  files.PDF: 'pdf',
  files.DOCX: 'docx',
  files.HTML: 'html',
  files.PICTURE: 'picture',
}
_MARKDOWN = re.compile(r'\.(md|markdown)(\.(gz|bz2|xz))?', re.IGNORECASE)
_ENDINGS = re.compile(
  r'(\.(txt|text|md|markdown|html?|xhtml|pdf|docx|gz|bz2|xz))+$', re.IGNORECASE
)
# Titles of properties that programs write by themselves.
_ODD_TITLE = re.compile(
  r'untitled|unknown|document\d*$|word document$|powerpoint pres|slide \d|'
  r'microsoft \w+ - |layout \d|title$|[\W\d_]*$|'
  r'.*\.(docx?|dvi|fm|html?|indd|odt|p65|pdf|pptx?|ps|qxd|rtf|tex|txt|xlsx?)$',
  re.IGNORECASE,
)
_LONGEST_TITLE = 200  # Characters.
_MAX_SECONDS = 300.0  # A thousand pages of PDF take a minute.
_MAX_BYTES = 4 << 30  # Memory of a worker.
_FILES_AHEAD = 2  # Per worker.
Article = article_records.Article
_Found = tuple[str, Any]  # File; articles, or '' or why it is left out.


def read(
  items: Iterable[str],
  format: str,  # pylint: disable=redefined-builtin
  counts: counts_lib.Counts,
  num_workers: int,
) -> Iterator[tuple[str, list[Article]]]:
  """Yields (file, its articles), in order; other items have no articles.

  Counts, names and leaves out files without text. UserError for a file that is
  broken, unless `counts` skips it, and for a package that is missing.

  Args:
    items: Files, or datasets, which are yielded alone.
    format: 'auto' recognizes each file by its content, Markdown by its name.
  """
  limit = parallel.Limit(
    _MAX_SECONDS,
    instead=lambda item, reason: (item[0], f'file that {reason}'),
    applies=lambda item: item[1] in FORMATS,
    ahead=_FILES_AHEAD,
  )
  named = ((item, recognize(item, format)) for item in items)
  for path, found in parallel.ordered_map(
    _reader, (), named, num_workers, limit
  ):
    if isinstance(found, errors.UserError):
      counts.error(found, file=readable(path))
    elif found and isinstance(found, str):
      counts.drop(found, file=readable(path))
      logging.warning('Left out: %s, %s.', readable(path), found)
    else:
      yield path, list(found)


def recognize(item: str, format: str) -> str:  # pylint: disable=redefined-builtin
  """Returns the format of a document, why it is left out, or ''."""
  found = format if format in FORMATS else ''
  if format == 'auto':
    try:
      head = files.head(item)
    except errors.UserError:  # A dataset, or the reader of other files reports.
      return ''
    kind = files.kind_of(head)
    found = _FORMAT_OF.get(kind, '') if head else 'empty file'
    if head and not kind and _MARKDOWN.search(item):
      found = 'markdown'
  if found in FORMATS and not importlib.util.find_spec(_PACKAGES[found]):
    raise errors.UserError(
      f'{_PACKAGES[found]} must be installed to read {item}. Found no such '
      "package. Run: pip install 'realm_tf[files]'"
    )
  return found


def _reader() -> Callable[[tuple[str, str]], _Found]:
  """Limits this process, and returns the reader of (file, format)."""
  python_logging.disable()  # Libraries report each fault that they mend.
  with contextlib.suppress(OSError, ValueError):  # Not every system can.
    resource.setrlimit(resource.RLIMIT_AS, (_MAX_BYTES, _MAX_BYTES))
  return _read


def _read(item: tuple[str, str]) -> _Found:
  path, format = item  # pylint: disable=redefined-builtin
  try:
    adapter = importlib.import_module(f'{__package__}.{format}_file')
    with files.opened(path) as file:
      found = adapter.read(readable(path), file.read())
    return path, found or f'{format} without text'
  except errors.UserError as error:
    return path, error
  except Exception as error:  # Libraries raise any kind on a broken file.
    return path, errors.UserError(
      f'{path} must be a readable {format} file. Found '
      f'{type(error).__name__}: {str(error)[:99].rstrip(".")}. Save it again, '
      'or leave out broken files by --on_error=skip.'
    )


def sections(
  path: str, title: str, parts: Iterable[tuple[int, str]]
) -> list[Article]:
  """Returns an article for each heading that has text below it.

  Args:
    title: Title of the document; by default its only heading of the highest
      level, or its file's name.
    parts: (level of a heading from 1, or 0 for a paragraph; text).
  """
  parts = [(level, ' '.join(text.split())) for level, text in parts]
  parts = [part for part in parts if part[1]]
  top = min((level for level, _ in parts if level), default=1)
  tops = [text for level, text in parts if level == top]
  title = ' '.join(title.split()) or (
    tops[0] if len(tops) == 1 else name_of(path)
  )
  articles: list[Article] = []
  headings: dict[int, str] = {}
  lines: list[str] = []
  for level, text in [*parts, (1, '')]:
    if not level:
      lines.append(text)
      continue
    if lines:
      # "The sea - Our site" names its first heading.
      own = (text for text in headings.values() if not title.startswith(text))
      full = ', '.join(dict.fromkeys([title, *own]))
      articles.append(
        Article(full, '\n'.join(lines), f'{path}#section={len(articles) + 1}')
      )
    lines = []
    headings = {k: v for k, v in headings.items() if k < level} | {level: text}
  return articles


def sensible(title: str | None) -> str:
  """Returns the title of a document's properties; '' for a program's own."""
  title = ' '.join((title or '').split())
  return '' if _ODD_TITLE.match(title) else title[:_LONGEST_TITLE]


def name_of(path: str) -> str:
  """Returns the title of a file without one: its name, without endings."""
  name = _ENDINGS.sub('', os.path.basename(readable(path)))
  return ' '.join(name.replace('_', ' ').split())


def readable(path: str) -> str:
  """Returns a path as text; its bytes may be no UTF-8."""
  return os.fsencode(path).decode('utf-8', 'replace')
