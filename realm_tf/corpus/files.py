"""Finds input files, decompresses them by content, and streams their lines."""

import bz2
from collections.abc import Iterable, Iterator
import contextlib
import functools
import glob
import gzip
import itertools
import lzma
import os
import re
import types
from typing import Any, BinaryIO
import zlib

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import counts as counts_lib

_BYTE_ORDER_MARK = '\ufeff'
_NUM_HEAD = 1 << 16  # Bytes; a CSV header may be long.
_DAMAGE = EOFError, OSError, lzma.LZMAError, zlib.error
_Line = tuple[int, str, errors.UserError | None]
_COMPRESSIONS = {b'\x1f\x8b': gzip, b'BZh': bz2, b'\xfd7zXZ\0': lzma}
# First bytes of files that pyarrow reads.
TABLES = PARQUET, ARROW_FILE, ARROW_STREAM = b'PAR1', b'ARRO', b'\xff' * 4
_ZIP = b'PK\x03\x04'
PDF, DOCX, HTML, PICTURE = 'a PDF', 'a DOCX file', 'an HTML page', 'a picture'
# First bytes -> kind.
_KINDS = {
  _ZIP: 'a zip archive (.zip, .xlsx, .pptx, .odt or .epub)',
  b'PK\x05\x06': 'an empty zip archive',
  b'7z\xbc\xaf\x27\x1c': 'a 7z archive',
  b'Rar!\x1a': 'a RAR archive',
  b'\x28\xb5\x2f\xfd': 'compressed with zstd',
  b'\x04\x22\x4d\x18': 'compressed with lz4',
  b'\x1f\x9d': 'compressed with compress',
  b'%PDF': PDF,
  b'%!PS': 'PostScript',
  b'{\\rtf': 'an RTF document',
  b'\xd0\xcf\x11\xe0': 'an old Word or Excel document',
  b'\x00\x00\xfe\xff': 'UTF-32 text',
  b'\xff\xfe\x00\x00': 'UTF-32 text',
  b'\xff\xfe': 'UTF-16 text',
  b'\xfe\xff': 'UTF-16 text',
  b'SQLite format 3': 'an SQLite database',
  PARQUET: 'a Parquet file',
  ARROW_FILE: 'an Arrow file',
  ARROW_STREAM: 'an Arrow stream',
  b'FEA1': 'a Feather file of version 1',
  b'Obj\x01': 'an Avro file',
  b'ORC': 'an ORC file',
  b'\x89HDF': 'an HDF5 file',
  b'\x93NUMPY': 'a NumPy array',
  b'\x89PNG': PICTURE,
  b'\xff\xd8\xff': PICTURE,
  b'GIF8': PICTURE,
  b'II*\0': PICTURE,
  b'MM\0*': PICTURE,
  b'\0\0\1\0': PICTURE,
  b'\x7fELF': 'a program',
  **{b'\x80%c' % version: 'a pickle' for version in range(2, 6)},
}
_HTML = b'<!doctype html', b'<html', b'<head', b'<body'
_WILDCARDS = {'**/': '(?:.*/)?', '**': '.*', '*': '[^/]*', '?': '[^/]'}
# Files that Spark and Databricks write next to the data.
_MARK = re.compile(
  r'_(SUCCESS|temporary|delta_log|(common_)?metadata|(committed|started)_\d+)'
)
# As tf.io.gfile, which fails on names that are not UTF-8.
_LOCAL = types.SimpleNamespace(
  exists=os.path.exists,
  glob=glob.glob,
  isdir=os.path.isdir,
  walk=functools.partial(os.walk, followlinks=True),
)
_COMMENTS = re.compile(rb'\A\s*(?:<!--.*?(?:-->|\Z)\s*)+', re.DOTALL)
_TAR_MARK = slice(257, 262)
_NUM_HTML = 1024  # Bytes to search for the mark of an HTML page.


def find_files(item: str) -> list[str]:
  """Returns the files of a path, a directory or a glob, sorted.

  A directory's folders and files are read once each, links included, and hidden
  ones never; nor are marks of Spark, such as _SUCCESS.
  """
  system = _system(item)
  if system.isdir(item):
    files = list(_files_below(item))
  elif system.exists(item):
    files = [item]
  elif '**' in item:
    files = _below(item)
  else:
    files = [path for path in system.glob(item) if not system.isdir(path)]
  if not files:
    raise errors.UserError(
      f'Input must be files that exist. Found nothing at {item}. Check the '
      'path or the glob.'
    )
  return sorted(files)


def _system(path: str) -> Any:
  """Returns functions of files; TensorFlow's cannot read all local names."""
  if '://' not in path:
    return _LOCAL
  import tensorflow as tf  # Takes seconds.

  return tf.io.gfile


def _below(pattern: str) -> list[str]:
  """Returns the files that match a pattern in which ** is any folders."""
  pattern = os.path.normpath(pattern)
  fixed = re.split(r'[*?]', pattern, maxsplit=1)[0]
  root = fixed[: fixed.rfind('/') + 1] or './'
  parts = re.split(r'(\*\*/?|[*?])', pattern)
  expression = ''.join(
    _WILDCARDS.get(each) or re.escape(each) for each in parts
  )
  matches = re.compile(expression).fullmatch
  files = map(os.path.normpath, _files_below(root))
  return [path for path in files if matches(path)]


def _files_below(directory: str) -> Iterator[str]:
  seen = {os.path.realpath(directory)}
  for folder, folders, names in _system(directory).walk(directory):
    real = os.path.realpath(folder)

    def is_new(name: str, real: str = real) -> bool:
      if name.startswith('.') or _MARK.fullmatch(name):
        return False
      path = os.path.join(real, name)
      path = os.path.realpath(path) if os.path.islink(path) else path
      is_known = path in seen
      seen.add(path)
      return not is_known

    folders[:] = filter(is_new, sorted(folders))  # The walk goes on with these.
    for name in filter(is_new, names):
      yield os.path.join(folder, name)


@contextlib.contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
  """Opens a text file as decompressed bytes."""
  with opened(path) as file:
    check_text(path, file.read(_NUM_HEAD))
    file.seek(0)
    yield file


def head(path: str) -> bytes:
  """Returns the first decompressed bytes of a file of any kind."""
  with opened(path) as file:
    return file.read(_NUM_HEAD)


def first_lines(beginning: bytes, number: int = 1) -> list[str]:
  """Returns the first stripped lines that are not blank."""
  text = beginning.decode('utf-8', 'replace')
  text = text.lstrip(_BYTE_ORDER_MARK + ' \t')
  lines = filter(None, map(str.strip, text.splitlines()))
  return list(itertools.islice(lines, number))


def read_lines(
  path: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> Iterator[tuple[int, str]]:
  """Yields (line number from 1, line); `counts` may skip lines not in UTF-8."""
  for number, line, problem in read_all_lines(path):
    if problem:
      counts.error(problem)
    else:
      yield number, line


def read_all_lines(path: str) -> Iterator[_Line]:
  """Yields (line number from 1, line, its error or None) of a file."""
  with reading(path) as file:
    yield from decoded(file, path)


def decoded(lines: Iterable[bytes], name: str) -> Iterator[_Line]:
  """Yields (number from 1, line, error or None); drops a byte order mark."""
  for number, line in enumerate(lines, 1):
    problem = None
    try:
      text = line.decode('utf-8')
    except UnicodeDecodeError as error:
      text = line.decode('utf-8', 'replace')
      problem = errors.UserError(
        f'{name} must be UTF-8 text. Found other bytes in line {number} '
        f'({error.reason}). Convert the file.'
      )
    yield number, text.removeprefix(_BYTE_ORDER_MARK * (number == 1)), problem


def typed_lines(stream: BinaryIO) -> Iterator[str]:
  """Yields each stripped line of standard input as soon as it arrives."""
  for _, line, problem in decoded(stream, 'Standard input'):
    if problem:
      raise problem
    if line.strip():
      yield line.strip()


@contextlib.contextmanager
def opened(path: str) -> Iterator[BinaryIO]:
  """Opens a file of any kind as decompressed bytes."""
  input_files.check(path)
  open_file, failure = input_files.opener(path)
  try:
    with open_file(path, 'rb') as file:
      magic = file.read(6)
      file.seek(0)
      found = [_COMPRESSIONS[m] for m in _COMPRESSIONS if magic.startswith(m)]
      yield found[0].open(file, 'rb') if found else file
  except (*_DAMAGE, failure) as error:
    raise errors.UserError(
      f'{path} must be readable. Found: {error}. Copy the file again.'
    ) from error


def check_text(path: str, head: bytes) -> None:
  """Raises UserError if a file with the first bytes `head` is no text."""
  kind = kind_of(head)
  if kind:
    raise errors.UserError(
      f'{path} must be plain text in UTF-8 here. Found {kind}. Unpack or '
      'convert it.'
    )


def kind_of(head: bytes) -> str:
  """Returns the kind of a file, 'a PDF'; '' if it may be text."""
  if head.startswith(_ZIP) and b'word/' in head:
    return DOCX
  for beginning, kind in _KINDS.items():
    if head.startswith(beginning):
      return kind
  if head[_TAR_MARK] == b'ustar':
    return 'a tar archive'
  if head[8:12] == b'WEBP':
    return PICTURE
  if b'\0' in head:
    is_wide = head[1::2].count(0) + head[::2].count(0) >= len(head) // 3
    return 'UTF-16 text without a mark' if is_wide else 'binary data'
  text = _COMMENTS.sub(b'', head.removeprefix(b'\xef\xbb\xbf'))
  text = text.lstrip()[:_NUM_HTML].lower()
  if text.startswith(b'%pdf'):  # Some files begin with an empty line.
    return PDF
  is_xml = text.startswith(b'<?xml')
  if text.startswith(b'<svg') or (is_xml and b'<svg' in text):
    return PICTURE
  is_xhtml = is_xml and any(mark in text for mark in _HTML)
  return HTML if text.startswith(_HTML) or is_xhtml else ''
