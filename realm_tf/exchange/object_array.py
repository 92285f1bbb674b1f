"""Reads texts of a .npy file of Python objects without running any code.

Such a file is a pickle: a program that may call any function. This reader
follows the few instructions that NumPy writes for an array of bytes objects. It
looks up and calls nothing, and refuses all other instructions.
"""

import array
from collections.abc import Iterator
import pickletools
from typing import Any, BinaryIO

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.data import npy_files

_TEXTS = ('SHORT_BINBYTES', 'BINBYTES', 'BINBYTES8')
_NOTES = ('MEMOIZE', 'BINPUT', 'LONG_BINPUT')
_RECALLS = ('BINGET', 'LONG_BINGET')
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
)
_INSIDE = frozenset(['FRAME', 'MARK', 'APPEND', 'APPENDS'])
_AFTER = frozenset(['BUILD', 'STOP'])
# A pickle stores a repeated object once. Repeated texts may take 4 times the
# file's bytes, or 64 MiB, so that a small file cannot fill the memory.
_MOST_REPEATED = 4
_ALWAYS_REPEATED_BYTES = 64 << 20


class _Refused(ValueError):
  """The file is not an array of bytes objects."""


def read_texts(path: str) -> Iterator[bytes]:
  """Yields the items of an array of bytes objects.

  For other content, UserError is raised, which may come after some texts.
  """
  input_files.check(path)
  size = tf.io.gfile.stat(path).length
  with tf.io.gfile.GFile(path, 'rb') as file:
    try:
      shape = _read_shape(file, size)
      count = 0
      most = max(_MOST_REPEATED * size, _ALWAYS_REPEATED_BYTES)
      for text in _items(file, most):
        count += 1
        if count > shape[0]:
          raise _Refused(f'more texts than the {shape[0]} of its shape')
        yield text
      if count != shape[0]:
        raise _Refused(f'{count} texts and shape {shape}')
    except (ValueError, MemoryError, OverflowError, tf.errors.OpError) as error:
      raise errors.UserError(
        f'{path} must be an array of texts, written by NumPy. Found: {error}. '
        'The file is a pickle, which is read but never run. Give the '
        "release's blocks.tfr as --blocks instead."
      ) from error


def _read_shape(file: BinaryIO, size: int) -> tuple[int, ...]:
  dtype, shape, _ = npy_files.read_header(file)
  # The shortest text is a repetition of 2 bytes.
  if dtype.kind != 'O' or len(shape) != 1 or 2 * shape[0] > size:
    raise _Refused(f'shape {shape} and type {dtype.str} in {size} bytes')
  return shape


def _items(file: BinaryIO, left_to_repeat: int) -> Iterator[bytes]:
  """Yields the texts of the list."""
  # Memorized texts are positions in the file: there are millions of texts.
  notes = array.array('q')
  allowed, last = _BEFORE, -1
  for name, argument, position in _instructions(file):
    if name in _TEXTS and allowed is _INSIDE:
      last = position
      yield argument
    elif name in _NOTES:
      _note(notes, len(notes) if name == 'MEMOIZE' else argument, last)
    elif name in _RECALLS and allowed is _INSIDE:
      text = _text_at(file, notes, argument)
      left_to_repeat -= len(text)
      if left_to_repeat < 0:
        raise _Refused('texts that unfold to many times the file')
      yield text
    elif name == 'EMPTY_LIST' and allowed is _BEFORE:
      allowed = _INSIDE
    elif name == 'TUPLE' and allowed is _INSIDE:
      allowed, last = _AFTER, -1
    elif allowed is _BEFORE and name in _WORD:
      if not _WORDS.issuperset(argument.split(' ')):
        raise _Refused(f'the name {argument[:80]}')
    elif name not in allowed:
      raise _Refused(f'the instruction {name}')


def _instructions(file: BinaryIO) -> Iterator[tuple[str, Any, int]]:
  """Yields name, argument and position of each instruction."""
  for opcode, argument, position in pickletools.genops(file):
    yield opcode.name, argument, position or 0


def _note(notes: array.array, index: int, position: int) -> None:
  """Memorizes the position of a text, or -1 for another object."""
  if index > len(notes):
    raise _Refused('a note that skips others')
  if index == len(notes):
    notes.append(position)
  notes[index] = position


def _text_at(file: BinaryIO, notes: array.array, index: int) -> bytes:
  """Returns a memorized text, and restores the file's position."""
  position = notes[index] if index < len(notes) else -1
  if position < 0:
    raise _Refused('a repetition of something that is no text')
  after = file.tell()
  file.seek(position)
  _, text, _ = next(_instructions(file))
  file.seek(after)
  return text
