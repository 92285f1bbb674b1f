"""Finds input files, decompresses them by content, and streams their lines.

Compression (gzip, bzip2, xz) is recognized by content, not by name.
"""

import bz2
from collections.abc import Iterable, Iterator
import contextlib
import gzip
import itertools
import lzma
import os
from typing import Any, BinaryIO, Optional
import zlib

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import file_kinds

BYTE_ORDER_MARK = '\ufeff'
_NUM_HEAD = 1 << 16  # Bytes; a header of columns may be long.
_Damage = (EOFError, OSError, lzma.LZMAError, zlib.error, tf.errors.OpError)


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


@contextlib.contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
  """Opens a text file for reading its bytes, decompressed.

  Raises:
    UserError: The file is unreadable or damaged, also while the body reads, or
      is no text.
  """
  with _opened(path) as file:
    file_kinds.check(path, file.read(_NUM_HEAD))
    file.seek(0)
    yield file


def head(path: str) -> bytes:
  """Returns the first bytes of a file of any kind, decompressed."""
  with _opened(path) as file:
    return file.read(_NUM_HEAD)


def read_lines(
  path: str, counts: Optional[counts_lib.Counts] = None
) -> Iterator[tuple[int, str]]:
  """Yields (line number from 1, line); `counts` may skip lines not in UTF-8.

  A byte order mark at the beginning is left out.
  """
  counts = counts or counts_lib.Counts()
  for number, line, problem in read_all_lines(path):
    if problem:
      counts.error(problem)
    else:
      yield number, line


def read_all_lines(
  path: str,
) -> Iterator[tuple[int, str, Optional[errors.UserError]]]:
  """Yields `read_lines`, and None or the error of a line not in UTF-8."""
  with reading(path) as file:
    for number, line in enumerate(file, 1):
      problem = None
      try:
        text = line.decode('utf-8')
      except UnicodeDecodeError as error:
        text = line.decode('utf-8', 'replace')
        problem = errors.UserError(
          f'{path} must be UTF-8 text; line {number} is not ({error.reason}). '
          'Convert the file.'
        )
      yield number, text.removeprefix(BYTE_ORDER_MARK * (number == 1)), problem


def read_json_lines(
  path: str, counts: Optional[counts_lib.Counts] = None
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file:line', object) for each line; `counts` may skip bad lines."""
  counts = counts or counts_lib.Counts()
  for number, line in read_lines(path, counts):
    where = f'{path}:{number}'
    if not line.strip():
      continue
    try:
      record = json_text.parse_object(line.rstrip(), where)
    except errors.UserError as error:
      counts.error(error)
    else:
      yield where, record


def read_json_files(
  paths: Iterable[str],
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields `read_json_lines` of all files; a missing one is found at once."""
  files = [file for path in paths for file in find_files(path)]
  return itertools.chain.from_iterable(map(read_json_lines, files))


def read_texts(paths: Iterable[str]) -> Iterator[str]:
  """Yields "text" of each line of JSONL files; see `read_json_files`."""
  return itertools.starmap(_text, read_json_files(paths))


def _text(where: str, record: dict[str, Any]) -> str:
  if not isinstance(record.get('text'), str):
    raise errors.UserError(
      f'{where} must have "text", a string. Found {record!r:.60}.'
    )
  return record['text']


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
  try:
    with _open(path) as file:
      yield file
  except _Damage as error:
    raise errors.UserError(
      f'{path} must be readable; it is not: {error}. Copy the file again.'
    ) from error


def _open(path: str):
  """Opens a file, decompressed according to its first bytes."""
  kind = input_files.kind(path)
  if kind:
    raise errors.UserError(
      f'{path} must be a file; it is {kind}. Copy what it holds to a file.'
    )
  opener = open if '://' not in path else tf.io.gfile.GFile
  with opener(path, 'rb') as file:
    magic = file.read(6)
  # A local path, so that closing the decompressor closes the file.
  file = path if opener is open else opener(path, 'rb')
  for beginning, library in (
    (b'\x1f\x8b', gzip),
    (b'BZh', bz2),
    (b'\xfd7zXZ\0', lzma),
  ):
    if magic.startswith(beginning):
      return library.open(file, 'rb')
  return opener(path, 'rb')
