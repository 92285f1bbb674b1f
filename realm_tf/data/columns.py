"""Columns of rows of different lengths, as flat .npy memory maps.

NAME.npy holds the rows end to end; texts are UTF-8, uint8. NAME.offsets.npy
holds where each row begins, and where the last one ends, int64.
"""

from collections.abc import Mapping, Sequence
import hashlib
import io
import itertools
import os
from typing import Any, Optional, Union

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text


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


class Rows:
  """N rows; row i is values[offsets[i]:offsets[i + 1]].

  Texts are UTF-8, uint8; ids are int32. Offsets are int64 [N + 1], from 0.
  """

  def __init__(self, values: np.ndarray, offsets: np.ndarray):
    self.values = values
    # A slice takes a fifth of the time of np.memmap's.
    self._plain = np.asarray(values)
    self.offsets = np.asarray(offsets)

  @classmethod
  def of_lengths(
    cls, values: np.ndarray, lengths: Sequence[int] | np.ndarray
  ) -> 'Rows':
    ends = np.cumsum(lengths, dtype=np.int64)
    return cls(values, np.concatenate([[0], ends]))

  @classmethod
  def of_texts(cls, texts: Sequence[str]) -> 'Rows':
    encoded = [text.encode('utf-8', 'replace') for text in texts]
    values = np.frombuffer(b''.join(encoded), np.uint8)
    return cls.of_lengths(values, [len(text) for text in encoded])

  @classmethod
  def of_ids(cls, arrays: Sequence[np.ndarray]) -> 'Rows':
    values = np.concatenate([np.zeros(0, np.int32), *arrays])
    return cls.of_lengths(
      values.astype(np.int32), [len(array) for array in arrays]
    )

  @classmethod
  def open(
    cls, directory: str, name: str, dtype: Any, num_rows: Optional[int] = None
  ) -> 'Rows':
    """Opens a column, memory-mapped."""
    path = os.path.join(directory, name)
    values = open_array(f'{path}.npy', dtype, [None])
    num_offsets = None if num_rows is None else num_rows + 1
    offsets = open_array(f'{path}.offsets.npy', np.int64, [num_offsets])
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(values):
      raise errors.UserError(
        f'{path}.offsets.npy must begin with 0 and end with {len(values)}, the '
        f'length of {path}.npy. Found something else. Make its directory again.'
      )
    return cls(values, offsets)

  def __len__(self) -> int:
    return len(self.offsets) - 1

  def lengths(self, rows: Any = slice(None)) -> np.ndarray:
    """Returns the lengths of `rows`, by default of all, int32 [n]."""
    return (self.offsets[1:][rows] - self.offsets[:-1][rows]).astype(np.int32)

  def row(self, i: int) -> np.ndarray:
    return np.array(self._plain[self.offsets[i] : self.offsets[i + 1]])

  def text(self, i: int) -> str:
    return self.row(i).tobytes().decode('utf-8', 'replace')

  def arrays(self) -> list[np.ndarray]:
    pairs = itertools.pairwise(self.offsets.tolist())
    return [self._plain[start:end] for start, end in pairs]

  def texts(self) -> list[str]:
    return [row.tobytes().decode('utf-8', 'replace') for row in self.arrays()]

  def slice(self, start: int, stop: int) -> 'Rows':
    offsets = self.offsets[start : stop + 1]
    return Rows(self._plain[offsets[0] : offsets[-1]], offsets - offsets[0])

  def select(self, is_kept: np.ndarray) -> 'Rows':
    """Returns the rows where `is_kept`, bool [N]."""
    lengths = self.lengths()
    values = self._plain[np.repeat(is_kept, lengths)]
    return Rows.of_lengths(values, lengths[is_kept])

  def gather(
    self, rows: np.ndarray, length: int, skipped: np.ndarray | int = 0
  ) -> np.ndarray:
    """Returns rows [...] as [..., length], cut or zero-padded; zeros for -1.

    Args:
      skipped: Number of values left out at the start of each row.
    """
    rows = np.asarray(rows)
    result = np.zeros((*rows.shape, length), self.values.dtype)
    if not self.values.size:
      return result
    flat = rows.ravel()
    present = np.where(flat < 0, 0, flat)
    starts = self.offsets[:-1][present] + np.ravel(skipped)
    ends = np.minimum(self.offsets[1:][present], starts + length)
    ends[flat < 0] = 0
    # Whole rows: indexing each value takes twice the time.
    places = zip(starts.tolist(), ends.tolist(), strict=True)
    for target, (start, end) in zip(result.reshape(-1, length), places):
      if start < end:
        target[: end - start] = self._plain[start:end]
    return result


class Writer:
  """Appends to a local column of rows, or of numbers, without keeping them.

  Attributes:
    digest: SHA-256 of the values and, after `close`, of the rows' lengths.
  """

  def __init__(self, directory: str, name: str, dtype: Any):
    self._path = os.path.join(directory, name)
    self._empty = np.zeros(0, dtype)
    self._lengths: list[np.ndarray] = []
    self._size = 0
    self.digest = hashlib.sha256()
    self._file = open(self._path + '.npy', 'wb')  # noqa: SIM115, until close.
    self._header_bytes = self._write_header()

  def extend(self, added: Rows | np.ndarray) -> None:
    if isinstance(added, Rows):
      self._lengths.append(added.lengths())
      added = added.values
    data = np.ascontiguousarray(added, self._empty.dtype).tobytes()
    self.digest.update(data)
    self._file.write(data)
    self._size += len(added)

  def close(self) -> None:
    """Makes the column readable."""
    self._file.seek(0)
    # NumPy pads the header, so the final length fits in its place.
    if self._write_header() != self._header_bytes:
      raise ValueError(f'{self._path}.npy outgrew its header.')
    self._file.close()
    if self._lengths:
      lengths = np.concatenate(self._lengths)
      self.digest.update(lengths.tobytes())
      rows = Rows.of_lengths(self._empty, lengths)
      np.save(self._path + '.offsets.npy', rows.offsets)

  def _write_header(self) -> int:
    header = np.lib.format.header_data_from_array_1_0(self._empty)
    np.lib.format.write_array_header_1_0(
      self._file, {**header, 'shape': (self._size,)}
    )
    return self._file.tell()


_Columns = Mapping[str, Union[np.ndarray, Rows]]


def write_file(columns: _Columns, path: str) -> None:
  """Writes or replaces a file of columns by name; `path` may be remote."""
  arrays = {}
  for name, column in columns.items():
    if isinstance(column, Rows):
      arrays[f'{name}.offsets'] = column.offsets
      column = column.values
    arrays[name] = column
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  # Two workers of Beam may write the same batch at the same time.
  json_text.replace(path, buffer.getvalue())


def read_file(path: str) -> _Columns:
  """Returns the columns of a file by name."""
  with tf.io.gfile.GFile(path, 'rb') as file:
    arrays = np.load(io.BytesIO(file.read()), allow_pickle=False)
  return {
    name: Rows(arrays[name], arrays[f'{name}.offsets'])
    if f'{name}.offsets' in arrays
    else arrays[name]
    for name in arrays
    if not name.endswith('.offsets')
  }
