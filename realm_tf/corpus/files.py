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
from typing import BinaryIO, Optional
import zlib

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import file_kinds

_BYTE_ORDER_MARK = '\ufeff'
_NUM_HEAD = 1 << 16  # Bytes; a header of columns may be long.
_Damage = (EOFError, OSError, lzma.LZMAError, zlib.error, tf.errors.OpError)
_Line = tuple[int, str, Optional[errors.UserError]]
_COMPRESSIONS = {b'\x1f\x8b': gzip, b'BZh': bz2, b'\xfd7zXZ\0': lzma}


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
    found = tf.io.gfile.glob(item)
    files = [path for path in found if not tf.io.gfile.isdir(path)]
  if not files:
    raise errors.UserError(
      f'Input must be files that exist; nothing is at {item}. Check the path '
      'or the glob.'
    )
  return sorted(files)


@contextlib.contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
  """Opens a text file for reading its bytes, decompressed."""
  with _opened(path) as file:
    file_kinds.check(path, file.read(_NUM_HEAD))
    file.seek(0)
    yield file


def head(path: str) -> bytes:
  """Returns the first bytes of a file of any kind, decompressed."""
  with _opened(path) as file:
    return file.read(_NUM_HEAD)


def first_lines(beginning: bytes, number: int = 1) -> list[str]:
  """Returns lines of a `head`: stripped, and not blank."""
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
  """Yields `decoded` lines of a file."""
  with reading(path) as file:
    yield from decoded(file, path)


def decoded(lines: Iterable[bytes], name: str) -> Iterator[_Line]:
  """Yields (line number from 1, line, what is wrong with it) of UTF-8 text.

  A byte order mark at the beginning is left out.
  """
  for number, line in enumerate(lines, 1):
    problem = None
    try:
      text = line.decode('utf-8')
    except UnicodeDecodeError as error:
      text = line.decode('utf-8', 'replace')
      problem = errors.UserError(
        f'{name} must be UTF-8 text; line {number} is not ({error.reason}). '
        'Convert the file.'
      )
    yield number, text.removeprefix(_BYTE_ORDER_MARK * (number == 1)), problem


def typed_lines(stream: BinaryIO) -> Iterator[str]:
  """Yields the lines of standard input, stripped, as soon as each is there."""
  for _, line, problem in decoded(stream, 'Standard input'):
    if problem:
      raise problem
    if line.strip():
      yield line.strip()


@contextlib.contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
  try:
    with _open(path) as file:
      yield file
  except _Damage as error:
    raise errors.UserError(
      f'{path} must be readable; it is not: {error}. Copy the file again.'
    ) from error


def _open(path: str) -> BinaryIO:
  """Opens a file, decompressed according to its first bytes."""
  kind = input_files.kind(path)
  if kind:
    raise errors.UserError(
      f'{path} must be a file; it is {kind}. Copy what it holds to a file.'
    )
  opener = open if '://' not in path else tf.io.gfile.GFile
  with opener(path, 'rb') as file:
    magic = file.read(6)
  for beginning, library in _COMPRESSIONS.items():
    if magic.startswith(beginning):
      # A local path, so that closing the decompressor closes the file.
      return library.open(path if opener is open else opener(path, 'rb'), 'rb')
  return opener(path, 'rb')
