"""Finds input files, decompresses them by content, and streams their lines."""

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
_NUM_HEAD = 1 << 16  # Bytes; a CSV header may be long.
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
      f'Input must be files that exist. Found nothing at {item}. Check the '
      'path or the glob.'
    )
  return sorted(files)


@contextlib.contextmanager
def reading(path: str) -> Iterator[BinaryIO]:
  """Opens a text file as decompressed bytes."""
  with _opened(path) as file:
    file_kinds.check(path, file.read(_NUM_HEAD))
    file.seek(0)
    yield file


def head(path: str) -> bytes:
  """Returns the first decompressed bytes of a file of any kind."""
  with _opened(path) as file:
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
def _opened(path: str) -> Iterator[BinaryIO]:
  try:
    with _open(path) as file:
      yield file
  except _Damage as error:
    raise errors.UserError(
      f'{path} must be readable. Found: {error}. Copy the file again.'
    ) from error


def _open(path: str) -> BinaryIO:
  kind = input_files.kind(path)
  if kind:
    raise errors.UserError(
      f'{path} must be a file. Found {kind}. Copy its content to a file.'
    )
  opener = open if '://' not in path else tf.io.gfile.GFile
  with opener(path, 'rb') as file:
    magic = file.read(6)
  for beginning, library in _COMPRESSIONS.items():
    if magic.startswith(beginning):
      # A decompressor closes a path that it opened, but no file object.
      return library.open(path if opener is open else opener(path, 'rb'), 'rb')
  return opener(path, 'rb')
