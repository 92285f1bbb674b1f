"""Articles from files: JSONL, WikiExtractor's output, TensorFlow Datasets.

Everything is streamed. Files may be gzipped or bzipped, and are recognized by
their content, so names do not matter. The only import of tensorflow_datasets.
"""

import bz2
from collections.abc import Iterable, Iterator, Sequence
import gzip
import html
import itertools
import json
import os
import re
from typing import Any, NamedTuple
import zlib

import tensorflow as tf

from realm_tf import errors

FORMATS = ('auto', 'jsonl', 'wikiextractor', 'tfds')
_TFDS_PREFIX = 'tfds:'
_DOC = re.compile(r'<doc id="([^"]*)".*? title="(.*)"[^"]*>\s*$')
_LEFTOVER_TAG = re.compile(r'^</?\w+>\n', re.MULTILINE)  # '</dl>', mostly.
_LIST_TITLE = re.compile(
  r'(lists?|index|outline) of |.*\(disambiguation\)', re.IGNORECASE
)
# How wiki40b marks up its texts.
_WIKI40B_TITLE = re.compile(r'\s*_START_ARTICLE_\n(.*)\n')
_WIKI40B_MARK = re.compile(r'_START_(SECTION|PARAGRAPH)_\n|_NEWLINE_')


class Article(NamedTuple):
  """One document of the knowledge corpus.

  Attributes:
    title: Plain text.
    text: Plain text; line ends separate paragraphs.
    article_id: From the source, else the number of the article, from 0.
  """

  title: str
  text: str
  article_id: str


def read_articles(
  inputs: Sequence[str],
  format: str = 'auto',  # pylint: disable=redefined-builtin
) -> Iterator[Article]:
  """Yields the articles of all `inputs`, in order.

  Args:
    inputs: Files, directories (searched to the bottom), globs, or 'tfds:NAME'
      with NAME as in tfds.load, e.g. 'wikipedia/20230601.en'.
    format: One of FORMATS; 'auto' looks at each file's first line.

  Raises:
    errors.UserError: A missing file or a bad line; at once or while reading.
  """
  if format not in FORMATS:
    raise errors.UserError(
      f'--format must be one of {", ".join(FORMATS)}; got {format!r}.'
    )
  # Not a generator itself: a missing file is to be known before the first work.
  sources = []
  for item in inputs:
    if item.startswith(_TFDS_PREFIX):
      sources.append((_read_tfds, item[len(_TFDS_PREFIX) :]))
    else:
      sources += [(_reader(path, format), path) for path in find_files(item)]
  return _chain(sources)


def without_lists(articles: Iterable[Article]) -> Iterator[Article]:
  """Drops lists, indices, outlines and disambiguation pages, as ORQA does."""
  return (a for a in articles if not _LIST_TITLE.match(a.title))


def find_files(item: str) -> list[str]:
  """Returns the files of a path, a directory or a glob, sorted."""
  if tf.io.gfile.isdir(item):
    files = [
      os.path.join(folder, name)
      for folder, _, names in tf.io.gfile.walk(item)
      for name in names
      if not name.startswith(('.', '_'))
    ]
  elif tf.io.gfile.exists(item):
    files = [item]
  else:
    files = [
      path for path in tf.io.gfile.glob(item) if not tf.io.gfile.isdir(path)
    ]
  if not files:
    raise errors.UserError(
      f'Input must be files that exist; nothing is at {item}. Check the path '
      'or the glob.'
    )
  return sorted(files)


def read_lines(path: str) -> Iterator[tuple[int, str]]:
  """Yields (line number from 1, line) of a plain, .gz or .bz2 file."""
  try:
    with _open(path) as file:
      for number, line in enumerate(file, 1):
        yield number, line.decode('utf-8')
  except UnicodeDecodeError as error:
    raise errors.UserError(
      f'{path} must be UTF-8 text; line {number} is not ({error.reason}). '
      'Convert the file.'
    ) from error
  except (EOFError, OSError, zlib.error, tf.errors.OpError) as error:
    raise errors.UserError(
      f'{path} must be readable; it is not: {error}. Copy the file again.'
    ) from error


def read_json_lines(path: str) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file:line', object) for each line of a JSONL file."""
  for number, line in read_lines(path):
    where = f'{path}:{number}'
    if not line.strip():
      continue
    try:
      record = json.loads(line)
    except json.JSONDecodeError as error:
      raise errors.UserError(
        f'{where} must be a JSON object; column {error.colno}: {error.msg}. '
        'Mend the line.'
      ) from error
    if not isinstance(record, dict):
      raise errors.UserError(
        f'{where} must be a JSON object; it is a {type(record).__name__}. '
        'Mend the line.'
      )
    yield where, record


def read_json_files(
  paths: Iterable[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Returns `read_json_lines` of all files; finds them at once."""
  files = [file for path in paths for file in find_files(path)]
  return itertools.chain.from_iterable(map(read_json_lines, files))


def read_texts(paths: Iterable[str]) -> Iterator[str]:
  """Returns "text" of every line of JSONL files; finds the files at once."""
  return itertools.starmap(_text, read_json_files(paths))


def _text(where: str, record: dict[str, Any]) -> str:
  if not isinstance(record.get('text'), str):
    raise errors.UserError(
      f'{where} must have "text", a string. Found {record!r:.60}.'
    )
  return record['text']


def _chain(sources) -> Iterator[Article]:
  number = 0
  for read, item in sources:
    for article in read(item):
      yield (
        article
        if article.article_id
        else article._replace(article_id=str(number))
      )
      number += 1


def _open(path: str):
  """Opens a file for binary reading, decompressed by its first bytes."""
  opener = open if '://' not in path else tf.io.gfile.GFile
  with opener(path, 'rb') as file:
    magic = file.read(3)
  # A local path, so that closing the decompressor closes the file.
  file = path if opener is open else opener(path, 'rb')
  if magic[:2] == b'\x1f\x8b':
    return gzip.open(file, 'rb')
  if magic == b'BZh':
    return bz2.open(file, 'rb')
  return opener(path, 'rb')


def _reader(path: str, name: str):
  """Returns the function that reads `path`."""
  if name == 'auto':
    first = next((line for _, line in read_lines(path) if line.strip()), '{')
    first = first.lstrip('\ufeff \t')
    if first.startswith('<doc '):
      name = 'wikiextractor'
    elif first.startswith('{'):
      name = 'jsonl'
    else:
      raise errors.UserError(
        f'{path} must be JSONL or WikiExtractor output; it begins with '
        f'{first.strip()[:40]!r}. Give --format, or convert the file '
        '(MediaWiki XML: with WikiExtractor).'
      )
  if name == 'tfds':
    raise errors.UserError(
      f"With --format=tfds, --input must be 'tfds:NAME'; got {path}."
    )
  return {'jsonl': _read_jsonl, 'wikiextractor': _read_wikiextractor}[name]


def _read_jsonl(path: str) -> Iterator[Article]:
  for where, record in read_json_lines(path):
    for key in ('title', 'text'):
      if not isinstance(record.get(key), str):
        raise errors.UserError(
          f"{where} must have '{key}', a string; it has "
          f'{record.get(key)!r:.40}. An article is {{"title": ..., "text": '
          '..., "id": optional}.'
        )
    article_id = record.get('id')
    yield Article(
      record['title'],
      record['text'],
      '' if article_id is None else str(article_id),
    )


def _read_wikiextractor(path: str) -> Iterator[Article]:
  """Reads <doc id="..." url="..." title="..."> ... </doc>."""
  header, lines, number = None, [], 0
  for number, line in read_lines(path):
    if header is None:
      if not line.strip():
        continue
      header, lines = _DOC.match(line), []
      if not header:
        raise errors.UserError(
          f'{path}:{number} must begin an article, <doc id="..." ... '
          f'title="...">; it reads {line.strip()[:40]!r}. Run WikiExtractor '
          'again.'
        )
    elif line.rstrip() == '</doc>':
      yield _wikiextractor_article(header, lines)
      header = None
    else:
      lines.append(line)
  if header is not None:
    raise errors.UserError(
      f'{path}:{number} must be </doc>; the file ends inside of article '
      f'{header.group(2)!r}. Run WikiExtractor again.'
    )


def _wikiextractor_article(header: re.Match, lines: list[str]) -> Article:
  title = html.unescape(header.group(2))
  text = html.unescape(_LEFTOVER_TAG.sub('', ''.join(lines))).strip()
  first, _, rest = text.partition('\n')
  # The text begins with the title again, which every block has anyway.
  return Article(
    title, rest.strip() if first.strip() == title else text, header.group(1)
  )


def _read_tfds(name: str) -> Iterator[Article]:
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  try:
    records = tfds.as_numpy(tfds.load(name, split='train'))
  except Exception as error:  # Dozens of types, for every user's mistake.
    raise errors.UserError(
      f"'tfds:{name}' must be a dataset that tfds.load can prepare; it says: "
      f'{str(error)[:200]}'
    ) from error
  for record in records:
    if 'text' not in record:
      raise errors.UserError(
        f"'tfds:{name}' must have articles with 'title' and 'text'; it has "
        f'{", ".join(record)}. Choose e.g. wikipedia/20230601.en.'
      )
    text = record['text'].decode('utf-8')
    if 'title' in record:
      title = record['title'].decode('utf-8')
    else:
      match = _WIKI40B_TITLE.match(text)
      title = match.group(1) if match else ''
      text = text[match.end() :] if match else text
    yield Article(title, _WIKI40B_MARK.sub('\n', text).strip(), '')
