"""Opens .npy files that must hold an array of a known type and shape.

  NAME.npy -> header compared with type, shape and size of file -> memory map

NumPy's reader takes any type and shape, and ends in many ways with headers that
are damaged. Only headers as NumPy writes them are read here.
"""

from collections.abc import Callable, Iterator, Sequence
import math
import re
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files

_MAGIC = b'\x93NUMPY'
_MAX_HEADER_BYTES = 10_000  # As NumPy's own limit.
_HEADER = re.compile(
  rb"\{'descr': '([^']{1,16})', 'fortran_order': (True|False), "
  rb"'shape': \(((?:[0-9]{1,18}, ?)*[0-9]{0,18})\), \} *\n"
)
# Arrays of up to so many values are checked whole; of longer ones, as many in
# some pieces, which a disk reads in a moment.
_CHECKED_VALUES = 4 << 20
_NUM_PIECES = 16


def open_array(
  path: str, dtype: Any, shape: Sequence[Optional[int]]
) -> np.ndarray:
  """Opens an array: memory-mapped if local, else read into memory.

  Args:
    shape: Size of each axis; None takes any.

  Raises:
    UserError: It is missing, damaged, or of another type, shape or size.
  """
  input_files.check(path)
  dtype = np.dtype(dtype)
  try:
    with tf.io.gfile.GFile(path, 'rb') as file:
      type_name, found, offset = read_header(file)
      _check(type_name, found, dtype, shape)
      size = math.prod(found) * dtype.itemsize
      total = tf.io.gfile.stat(path).length
      if offset + size != total:
        raise ValueError(
          f'{total} bytes, where shape {found} needs {offset + size}'
        )
      if '://' in path:
        return np.frombuffer(file.read(), dtype).reshape(found)
    return np.memmap(path, dtype, 'r', offset, found)
  except (tf.errors.OpError, OSError, ValueError) as error:
    reason = getattr(error, 'message', '') or str(error)
    raise errors.UserError(
      f'{path} must be a .npy file of {dtype} and shape '
      f'{_shown(shape)}. Found: {reason}. Copy it from elsewhere, or make its '
      'directory again.'
    ) from error


def check_values(
  array: np.ndarray,
  holds: Callable[[np.ndarray], bool],
  must_hold: str,
  overlap: int = 0,
) -> None:
  """Raises UserError unless a piece of the memory-mapped array `holds`.

  All pieces of a short array are checked, and some of a long one.

  Args:
    must_hold: What must hold, for the error.
    overlap: Values that a piece has in common with the next one.
  """
  for start, stop in pieces(len(array), overlap):
    if not holds(array[start:stop]):
      name = getattr(array, 'filename', None) or 'An array'
      raise errors.UserError(
        f'{must_hold} must hold in {name}. Found something else in rows '
        f'{start} to {stop}: it was changed, or the disk is faulty. Copy it '
        'from elsewhere, or make its directory again.'
      )


def is_ascending(values: np.ndarray) -> bool:
  """Returns whether no value is below the one before."""
  return not (values[1:] < values[:-1]).any()


def within(low: int, below: int) -> Callable[[np.ndarray], bool]:
  """Returns what tests that all values are in [low, below)."""
  return lambda values: (
    not values.size or (values.min() >= low and values.max() < below)
  )


def pieces(length: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
  """Yields (start, stop) of the rows to check: all, or some of many."""
  if length <= _CHECKED_VALUES:
    yield 0, length
    return
  size = _CHECKED_VALUES // _NUM_PIECES
  for start in np.linspace(0, length - size, _NUM_PIECES, dtype=np.int64):
    yield int(start), int(start) + size + overlap


def read_header(file) -> tuple[str, tuple[int, ...], int]:
  """Returns type and shape of an array, and where its values begin.

  Raises:
    ValueError: The header is damaged, or not as NumPy writes it.
  """
  magic = file.read(8)
  if magic[:6] != _MAGIC:
    raise ValueError(f'bytes {magic[:6]!r}, which begin no .npy file')
  if magic[6:] not in (b'\x01\x00', b'\x02\x00'):
    raise ValueError(f'version {magic[6:].hex()} of the format')
  num_bytes = 2 if magic[6] == 1 else 4
  length = int.from_bytes(file.read(num_bytes), 'little')
  if length > _MAX_HEADER_BYTES:
    raise ValueError(f'a header of {length} bytes')
  header = file.read(length)
  match = _HEADER.fullmatch(header)
  if match is None:
    raise ValueError(f'the header {header[:80]!r}')
  if match[2] == b'True':
    raise ValueError("an array in FORTRAN's order")
  sizes = [int(size) for size in match[3].split(b',') if size.strip()]
  return match[1].decode('latin-1'), tuple(sizes), 8 + num_bytes + length


def _check(type_name, found, dtype, shape):
  if type_name != np.lib.format.dtype_to_descr(dtype):
    raise ValueError(f'type {type_name!r}')
  if len(found) != len(shape) or any(
    wanted not in (None, size) for wanted, size in zip(shape, found)
  ):
    raise ValueError(f'shape {found}')


def _shown(shape):
  sizes = ', '.join('any' if size is None else str(size) for size in shape)
  return f'[{sizes}]'
