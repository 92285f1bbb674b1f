"""blocks.tfr or block_records.npy of a release -> blocks, in their order.

A block's id is its row in block_emb: no block is cut, joined or left out.

A .npy file of Python objects is a pickle: a program that may call any function.
The reader here follows the few instructions that NumPy writes for an array of
bytes objects. It looks up and calls nothing, and refuses all other
instructions, such as a repetition of the same object.
"""

from collections.abc import Iterator
import os
import pickletools
from typing import Any, BinaryIO

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import sources

_TITLES = 'titles.tfr'
_TEXTS = ('SHORT_BINBYTES', 'BINBYTES', 'BINBYTES8')
_NOTES = 'MEMOIZE', 'BINPUT', 'LONG_BINPUT'  # For repetitions.
_WORD = ('GLOBAL', 'BINUNICODE', 'SHORT_BINUNICODE')
_WORDS = frozenset(
  'numpy.core.multiarray numpy._core.multiarray _reconstruct numpy ndarray '
  'dtype O8 |'.split()
)
# Allowed instructions before, inside and after the list of texts.
_BEFORE = frozenset(
  'PROTO FRAME MARK STACK_GLOBAL SHORT_BINBYTES TUPLE TUPLE1 TUPLE2 TUPLE3 '
  'BINGET REDUCE BUILD BININT BININT1 BININT2 LONG1 NONE NEWTRUE '
  'NEWFALSE'.split()
).union(_NOTES)
_INSIDE = frozenset(['FRAME', 'MARK', 'APPEND', 'APPENDS', *_NOTES])
_AFTER = frozenset(['BUILD', 'STOP', *_NOTES])


def read(path: str) -> Iterator[sources.Article]:
  """Yields each block as an article.

  The file has UTF-8 strings as TFRecords, or is a .npy file of bytes objects.
  Titles come from titles.tfr in the same directory, if it exists. Neighbouring
  blocks of one title get the same article id.
  """
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'--blocks must name the texts of the blocks. Found no file {path}.'
    )
  titles_file = os.path.join(os.path.dirname(path), _TITLES)
  has_titles = tf.io.gfile.exists(titles_file)
  titles = _records(titles_file) if has_titles else iter([])
  texts = read_array(path) if path.endswith('.npy') else _records(path)
  article_id, last, number = '', None, 0
  for number, text in enumerate(texts, 1):
    title = next(titles, None)
    if has_titles and title is None:
      raise _other_number(titles_file, str(number - 1))
    if not title or title != last:
      article_id, last = str(number - 1), title
    yield sources.Article(
      (title or b'').decode('utf-8', 'replace'),
      text.decode('utf-8', 'replace'),
      article_id,
    )
  if next(titles, None) is not None:
    raise _other_number(titles_file, f'more than {number}')


def _other_number(path: str, count: str) -> errors.UserError:
  return errors.UserError(
    f'{path} must have one title for each block. Found {count}. Copy it again, '
    'or move it away.'
  )


def _records(path: str) -> Iterator[bytes]:
  try:
    yield from tf.data.TFRecordDataset(path).as_numpy_iterator()
  except tf.errors.OpError as error:
    raise errors.UserError(
      f'{path} must be a whole TFRecord file of texts. Found: {error.message}. '
      'Copy it again.'
    ) from error


class _Refused(ValueError):
  """The file is not an array of bytes objects."""


def read_array(path: str) -> Iterator[bytes]:
  """Yields the items of a .npy file of bytes objects.

  For other content, UserError is raised, which may come after some texts.
  """
  input_files.check(path)
  size = tf.io.gfile.stat(path).length
  count = 0
  with tf.io.gfile.GFile(path, 'rb') as file:
    try:
      np.lib.format.read_magic(file)
      shape, _, dtype = np.lib.format.read_array_header_1_0(file)
      if dtype.kind != 'O' or len(shape) != 1 or 2 * shape[0] > size:
        raise _Refused(f'shape {shape} and type {dtype.str} in {size} bytes')
      for text in _items(file):
        count += 1
        if count > shape[0]:
          raise _Refused(f'more texts than the {shape[0]} of its shape')
        yield text
      if count != shape[0]:
        raise _Refused(f'{count} texts and shape {shape}')
    except Exception as error:  # The parsers raise many kinds of errors.
      raise errors.UserError(
        f'{path} must be an array of texts, written by NumPy. Found: {error}. '
        'The file is a pickle, which is read but never run. Give the '
        "release's blocks.tfr as --blocks instead."
      ) from error


def _items(file: BinaryIO) -> Iterator[bytes]:
  """Yields the texts of the list."""
  allowed = _BEFORE
  instructions: Iterator[Any] = pickletools.genops(file)
  for opcode, argument, _ in instructions:
    name = opcode.name
    if name in _TEXTS and allowed is _INSIDE:
      yield argument
    elif name == 'EMPTY_LIST' and allowed is _BEFORE:
      allowed = _INSIDE
    elif name == 'TUPLE' and allowed is _INSIDE:
      allowed = _AFTER
    elif allowed is _BEFORE and name in _WORD:
      if not _WORDS.issuperset(argument.split(' ')):
        raise _Refused(f'the name {argument[:80]}')
    elif name not in allowed:
      raise _Refused(f'the instruction {name}')
