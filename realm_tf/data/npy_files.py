"""Opens .npy files that must hold an array of a known type and shape."""

from collections.abc import Callable, Iterator, Sequence
import io
import os
from typing import Any, BinaryIO, Optional

import numpy as np

from realm_tf import errors
from realm_tf import input_files

INT32_MAX = 2**31 - 1  # Of rows, ids and lengths.
# Values to check: all of a short array, some pieces of a long one.
_CHECKED_VALUES = 4 << 20
_NUM_PIECES = 16


def open_array(
  path: str, dtype: Any, shape: Sequence[Optional[int]]
) -> np.ndarray:
  """Opens an array: memory-mapped if local, else read into memory.

  UserError if it is missing, damaged, or of another type or shape; a size of
  None accepts any.
  """
  input_files.check(path)
  dtype = np.dtype(dtype)
  try:
    if '://' in path:
      file = io.BytesIO(input_files.read(path))
      array = np.lib.format.read_array(file, allow_pickle=False)
      rest = len(file.read())
    else:
      array = np.lib.format.open_memmap(path, mode='r')
      rest = os.path.getsize(path) - array.offset - array.nbytes
    if array.dtype != dtype:
      raise ValueError(f'type {array.dtype.str!r}')
    if len(array.shape) != len(shape) or any(
      size not in (None, found) for size, found in zip(shape, array.shape)
    ):
      raise ValueError(f'shape {array.shape}')
    if rest or not array.flags.c_contiguous:
      raise ValueError(f"{rest} more bytes, or FORTRAN's order")
    return array
  except Exception as error:  # NumPy's parser raises many kinds of errors.
    sizes = ', '.join('any' if size is None else str(size) for size in shape)
    raise errors.UserError(
      f'{path} must be a .npy file of {dtype} and shape [{sizes}]. Found: '
      f'{str(error)[:200]}. Copy it from elsewhere, or make its directory '
      'again.'
    ) from error


def check_values(
  array: np.ndarray,
  holds: Callable[[np.ndarray], bool],
  must: str,
  overlap: int = 0,
) -> None:
  """Raises UserError unless every checked piece of an array `holds`.

  Args:
    must: Predicate for the error, such as 'ascend'.
    overlap: Number of values that adjacent pieces share.
  """
  for start, stop in pieces(len(array), overlap):
    if not holds(array[start:stop]):
      name = getattr(array, 'filename', None) or 'An array'
      raise errors.UserError(
        f'{name} must {must}. Found something else in rows {start} to {stop}: '
        'it was changed, or the disk is faulty. Copy it from elsewhere, or '
        'make its directory again.'
      )


def is_ascending(values: np.ndarray) -> bool:
  """Returns whether no value is below its predecessor."""
  return not (values[1:] < values[:-1]).any()


def within(low: int, below: int) -> Callable[[np.ndarray], bool]:
  """Returns a test that all values are in [low, below)."""
  return lambda values: (
    not values.size or (values.min() >= low and values.max() < below)
  )


def pieces(length: int, overlap: int = 0) -> Iterator[tuple[int, int]]:
  """Yields (start, stop) of the pieces to check."""
  if length <= _CHECKED_VALUES:
    yield 0, length
    return
  size = _CHECKED_VALUES // _NUM_PIECES
  for start in np.linspace(0, length - size, _NUM_PIECES, dtype=np.int64):
    yield int(start), int(start) + size + overlap


def read_header(file: BinaryIO) -> tuple[np.dtype, tuple[int, ...], int]:
  """Returns type and shape of an array, and where its values begin.

  ValueError if the header is damaged.
  """
  try:
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
  except Exception as error:  # NumPy's parser raises many kinds of errors.
    raise ValueError(f'a damaged header, {str(error)[:80]!r}') from error
  return dtype, shape, file.tell()
