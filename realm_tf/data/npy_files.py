"""Opens .npy files that must hold an array of a known type and shape."""

from collections.abc import Sequence
import io
import os
from typing import Any, Optional

import numpy as np

from realm_tf import errors
from realm_tf import input_files


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
