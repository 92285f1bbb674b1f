"""Columns of rows of different lengths, as flat .npy memory maps.

NAME.npy holds the rows end to end; texts are UTF-8, uint8. NAME.offsets.npy
holds where each row begins, and where the last one ends, int64.
"""

from collections.abc import Mapping, Sequence
import hashlib
import io
import itertools
import os
from typing import Any, NamedTuple, Optional, Union
import uuid

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.data import npy_files


class Rows(NamedTuple):
  """N rows end to end: texts as UTF-8, uint8, or ids, int32."""

  values: np.ndarray
  lengths: np.ndarray

  @classmethod
  def of_texts(cls, texts: Sequence[str]) -> 'Rows':
    encoded = [text.encode('utf-8', 'replace') for text in texts]
    return cls(np.frombuffer(b''.join(encoded), np.uint8), _lengths(encoded))

  @classmethod
  def of_ids(cls, arrays: Sequence[np.ndarray]) -> 'Rows':
    values = np.concatenate([np.zeros(0, np.int32), *arrays])
    return cls(values.astype(np.int32), _lengths(arrays))

  def select(self, is_kept: np.ndarray) -> 'Rows':
    """Returns the rows where `is_kept`, bool [N]."""
    return Rows(
      self.values[np.repeat(is_kept, self.lengths)], self.lengths[is_kept]
    )

  def arrays(self) -> list[np.ndarray]:
    ends = itertools.accumulate(self.lengths.tolist(), initial=0)
    return [self.values[a:b] for a, b in itertools.pairwise(ends)]

  def texts(self) -> list[str]:
    return [row.tobytes().decode('utf-8', 'replace') for row in self.arrays()]


def _lengths(rows: Sequence) -> np.ndarray:
  return np.array([len(row) for row in rows], np.int32)


class ColumnWriter:
  """Appends rows to a local column; keeps only their lengths in memory."""

  def __init__(self, directory: str, name: str, dtype: Any):
    self._path = os.path.join(directory, name)
    self._dtype = np.dtype(dtype)
    self._lengths = [np.zeros(0, np.int32)]
    self._digest = hashlib.sha256()
    self._file = open(self._path + '.npy', 'wb')  # noqa: SIM115, until close.
    self._header_bytes = self._write_header(0)

  def extend(self, rows: Rows) -> None:
    data = np.ascontiguousarray(rows.values, self._dtype).tobytes()
    self._digest.update(data)
    self._file.write(data)
    self._lengths.append(rows.lengths)

  def close(self) -> None:
    """Makes the column readable."""
    lengths = np.concatenate(self._lengths)
    self._digest.update(lengths.tobytes())
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    self._file.seek(0)
    # NumPy pads the header, so the final length fits in its place.
    if self._write_header(int(offsets[-1])) != self._header_bytes:
      raise ValueError(f'{self._path}.npy outgrew its header.')
    self._file.close()
    np.save(self._path + '.offsets.npy', offsets)

  def sha256(self) -> bytes:
    """Returns the SHA-256 of values and lengths, after `close`."""
    return self._digest.digest()

  def _write_header(self, length: int) -> int:
    np.lib.format.write_array_header_1_0(
      self._file,
      {
        'descr': np.lib.format.dtype_to_descr(self._dtype),
        'fortran_order': False,
        'shape': (length,),
      },
    )
    return self._file.tell()


class RaggedColumn:
  """N rows; row i is values[offsets[i]:offsets[i + 1]]."""

  def __init__(self, values: np.ndarray, offsets: np.ndarray):
    self.values = values
    # A slice takes a fifth of the time of np.memmap's.
    self._plain = np.asarray(values)
    self.offsets = offsets

  @classmethod
  def open(
    cls,
    directory: str,
    name: str,
    dtype: Any,
    num_rows: Optional[int] = None,
    below: Optional[int] = None,
  ) -> 'RaggedColumn':
    """Opens a column, memory-mapped; its values must be in [0, below)."""
    path = os.path.join(directory, name)
    values = npy_files.open_array(f'{path}.npy', dtype, [None])
    num_offsets = None if num_rows is None else num_rows + 1
    offsets = npy_files.open_array(
      f'{path}.offsets.npy', np.int64, [num_offsets]
    )
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(values):
      raise errors.UserError(
        f'{path}.offsets.npy must begin with 0 and end with {len(values)}, the '
        f'length of {path}.npy. Found something else. Make its directory again.'
      )
    npy_files.check_values(offsets, npy_files.is_ascending, 'ascend', overlap=1)
    column = cls(values, np.asarray(offsets))
    if below is not None:
      column.check_below(below)
    return column

  def check_below(self, bound: int) -> None:
    """Raises UserError for values outside [0, bound); samples long columns."""
    npy_files.check_values(
      self.values,
      npy_files.within(0, bound),
      f'have values from 0 to {bound - 1}',
    )

  def __len__(self) -> int:
    return len(self.offsets) - 1

  def lengths(self, rows: Optional[np.ndarray] = None) -> np.ndarray:
    """Returns the lengths of `rows`, by default of all, int32 [n]."""
    if rows is None:
      return np.diff(self.offsets).astype(np.int32)
    return (self.offsets[rows + 1] - self.offsets[rows]).astype(np.int32)

  def row(self, i: int) -> np.ndarray:
    return np.array(self._plain[self.offsets[i] : self.offsets[i + 1]])

  def slice(self, start: int, stop: int) -> Rows:
    offsets = self.offsets[start : stop + 1]
    lengths = np.diff(offsets).astype(np.int32)
    return Rows(self.values[offsets[0] : offsets[-1]], lengths)

  def text(self, i: int) -> str:
    return self.row(i).tobytes().decode('utf-8', 'replace')

  def gather(self, rows: np.ndarray, length: int) -> np.ndarray:
    """Returns rows [...] as [..., length], cut or zero-padded; zeros for -1."""
    rows = np.asarray(rows)
    if not self.values.size or not rows.size:
      return np.zeros((*rows.shape, length), self.values.dtype)
    present = np.maximum(rows, 0)
    starts = self.offsets[present][..., None]  # [..., 1]
    ends = np.where(rows < 0, 0, self.offsets[present + 1])[..., None]
    positions = starts + np.arange(length)  # [..., L]
    inside = positions < ends
    return np.where(inside, self.values[np.where(inside, positions, 0)], 0)


_Columns = Mapping[str, Union[np.ndarray, Rows]]


def write_file(columns: _Columns, path: str) -> None:
  """Writes or replaces a file of columns by name; `path` may be remote."""
  arrays = {}
  for name, column in columns.items():
    if isinstance(column, Rows):
      column, arrays[f'{name}.lengths'] = column
    arrays[name] = column
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  # Two workers of Beam may write the same batch at the same time.
  part = f'{path}.{uuid.uuid4().hex[:8]}.part'
  with tf.io.gfile.GFile(part, 'wb') as file:
    file.write(buffer.getvalue())
  tf.io.gfile.rename(part, path, overwrite=True)


def read_file(path: str) -> _Columns:
  """Returns the columns of a file by name."""
  with tf.io.gfile.GFile(path, 'rb') as file:
    columns = dict(np.load(io.BytesIO(file.read()), allow_pickle=False))
  for name in [name for name in columns if f'{name}.lengths' in columns]:
    lengths = columns.pop(f'{name}.lengths')
    columns[name] = Rows(columns[name], lengths)
  return columns
