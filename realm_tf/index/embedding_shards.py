"""The embeddings of all blocks, [N, D], as shards on disk.

A shard is a .npy file of consecutive rows, memory-mapped on reading. NumPy has
no bfloat16: such a shard holds the bits as uint16.
"""

from collections.abc import Sequence
import io
import os
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.data import columns
from realm_tf.run import manifests

_BFLOAT16 = tf.bfloat16.as_numpy_dtype
# Storage dtype -> dtype on disk.
_ON_DISK = {'float32': np.float32, 'float16': np.float16, 'bfloat16': np.uint16}


class Shard(NamedTuple):
  """One shard, as a manifest lists it."""

  file: str
  num_blocks: int
  size: int
  sha256: str


def write(
  directory: str, name: str, rows: np.ndarray, dtype: str, first_block: int = 0
) -> Shard:
  """Writes a shard; UserError if a number is not finite in `dtype`.

  The error names blocks, counted from `first_block`.
  """
  with np.errstate(over='ignore'):  # The check below finds overflows.
    encoded = (
      rows.astype(_BFLOAT16).view(np.uint16)
      if dtype == 'bfloat16'
      else np.ascontiguousarray(rows, dtype)
    )
  is_wrong = ~np.isfinite(_decode(encoded, dtype)).all(axis=1)
  if is_wrong.any():
    block = first_block + int(np.argmax(is_wrong))
    raise errors.UserError(
      f'Embeddings must be finite numbers of {dtype}. Found NaN, infinity or '
      f'a larger one in block {block}, in {os.path.join(directory, name)}. '
      'Check the weights of the block embedder, or build with '
      '--set=index.storage_dtype=float32.'
    )
  buffer = io.BytesIO()
  np.save(buffer, encoded, allow_pickle=False)
  data = buffer.getvalue()
  with tf.io.gfile.GFile(os.path.join(directory, name), 'wb') as file:
    file.write(data)
  return Shard(name, len(rows), **manifests.describe_bytes(data))


class Embeddings:
  """All shards as one array, float32 [N, D].

  Slices without a step and arrays of row numbers index it; only these rows are
  read and decoded. NumPy can convert it.
  """

  dtype = np.dtype(np.float32)

  def __init__(self, directory: str, shards: Sequence[Any], dtype: str):
    """Opens shards, by their files and numbers of blocks."""
    self._dtype = dtype
    self._parts: list[np.ndarray] = []
    self.shape = 0, 0
    for name, num_blocks, *_ in shards:
      path = os.path.join(directory, name)
      shape = [num_blocks, self.shape[1] or None]
      part = columns.open_array(path, _ON_DISK[dtype], shape)
      self._parts.append(part)
      self.shape = self.shape[0] + len(part), part.shape[1]
    self._ends = np.cumsum([len(part) for part in self._parts], dtype=int)

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: Any) -> np.ndarray:
    if isinstance(rows, slice):
      return self._slice(*rows.indices(len(self))[:2])
    rows = np.asarray(rows)
    result = np.empty([len(rows), self.shape[1]], np.float32)
    owners = np.searchsorted(self._ends, rows, side='right')
    for owner in np.unique(owners):
      places = np.flatnonzero(owners == owner)
      begin = self._ends[owner] - len(self._parts[owner])
      piece = self._parts[owner][rows[places] - begin]
      result[places] = _decode(piece, self._dtype)
    return result

  def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
    del copy  # Only a single float32 shard is returned without a copy.
    return np.asarray(self._slice(0, len(self)), dtype)

  def _slice(self, start: int, stop: int) -> np.ndarray:
    pieces = []
    for part, end in zip(self._parts, self._ends, strict=True):
      begin = int(end) - len(part)
      piece = part[max(0, start - begin) : max(0, stop - begin)]
      if len(piece):
        pieces.append(_decode(piece, self._dtype))
    if len(pieces) == 1:
      return pieces[0]
    return np.concatenate([np.zeros([0, self.shape[1]], np.float32), *pieces])


def _decode(rows: np.ndarray, dtype: str) -> np.ndarray:
  if dtype == 'bfloat16':
    return np.asarray(rows).view(_BFLOAT16).astype(np.float32)
  return rows if dtype == 'float32' else np.asarray(rows, np.float32)
