"""Rows of a matrix that lies in a file, read as they are asked for.

The authors' block embeddings take 6.84 GB (Section 3.3): they are copied to an
index shard by shard and are never in memory whole.
"""

import numpy as np
import tensorflow as tf

from realm_tf import errors


class FileRows:
  """An array-like float32 [N, D] on any file system.

  Args:
    path: Of the file.
    offset: Of the first row, in bytes.
    shape: (N, D).

  Raises:
    UserError: The file ends before the last row.
  """

  dtype = np.dtype('<f4')

  def __init__(self, path: str, offset: int, shape: tuple[int, int]):
    self.shape = shape
    self._path = path
    self._offset = offset
    self._row_bytes = shape[1] * self.dtype.itemsize
    expected = offset + shape[0] * self._row_bytes
    found = tf.io.gfile.stat(path).length
    if found < expected:
      raise errors.UserError(
        f'{path} must have {expected} bytes for {shape[0]} rows of {shape[1]}. '
        f'Found {found}: it is cut off. Copy it again.'
      )

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: slice) -> np.ndarray:
    """Reads a slice without step, float32 [n, D]."""
    start, stop, _ = rows.indices(len(self))
    with tf.io.gfile.GFile(self._path, 'rb') as file:
      file.seek(self._offset + start * self._row_bytes)
      data = file.read(max(0, stop - start) * self._row_bytes)
    return np.frombuffer(data, self.dtype).reshape(-1, self.shape[1])
