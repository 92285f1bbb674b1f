"""Finds input files, decompresses them by content, and streams their lines.

Compression (gzip, bzip2) is recognized by content, not by name.
"""

import bz2
from collections.abc import Iterable, Iterator
import contextlib
import gzip
import itertools
import json
import os
from typing import Any, BinaryIO, Optional
import zlib

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib


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
  """Opens a plain, .gz or .bz2 file for reading its decompressed bytes.

  Raises:
    UserError: The file is unreadable or damaged, also while the body reads.
  """
  try:
    with _open(path) as file:
      yield file
  except (EOFError, OSError, zlib.error, tf.errors.OpError) as error:
    raise errors.UserError(
      f'{path} must be readable; it is not: {error}. Copy the file again.'
    ) from error


def read_lines(
  path: str, counts: Optional[counts_lib.Counts] = None
) -> Iterator[tuple[int, str]]:
  """Yields (line number from 1, line); `counts` may skip lines not in UTF-8."""
  counts = counts or counts_lib.Counts()
  with reading(path) as file:
    for number, line in enumerate(file, 1):
      try:
        text = line.decode('utf-8')
      except UnicodeDecodeError as error:
        counts.error(
          errors.UserError(
            f'{path} must be UTF-8 text; line {number} is not '
            f'({error.reason}). Convert the file.'
          )
        )
      else:
        yield number, text


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
      record = json.loads(line.rstrip())
      problem = f'it is a {type(record).__name__}'
    except json.JSONDecodeError as error:
      record, problem = None, f'column {error.colno}: {error.msg}'
    if isinstance(record, dict):
      yield where, record
    else:
      counts.error(
        errors.UserError(
          f'{where} must be a JSON object; {problem}. Correct it.'
        )
      )


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


def _open(path: str):
  """Opens a file, decompressed according to its first bytes."""
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
