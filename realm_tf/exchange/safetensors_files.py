"""Reads the safetensors of a directory on demand, whole or by rows.

Large tensors stay in their files, which are mapped into memory. Files of an
object store are first copied to this machine.
"""

from collections.abc import Callable, Iterator, Mapping
import os
import tempfile
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.exchange import json_files
from realm_tf.model import weights

_FILE = 'model.safetensors'
_INDEX = {'weight_map': json_text.map_of(json_text.TEXT)}
_DTYPES = ('F64', 'F32', 'F16', 'BF16')


class Rows:
  """Embeddings of blocks, float32 [N, D], read by slices.

  The authors' block embeddings take 6.84 GB (Section 3.3). An index copies them
  shard by shard. `path` is for errors.
  """

  def __init__(
    self, shape: tuple[int, int], read: Callable[[slice], np.ndarray], path: str
  ):
    self.shape = shape
    self._read = read
    self._path = path

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: slice) -> np.ndarray:
    """Reads a slice of step 1, float32 [n, D]."""
    start, stop, _ = rows.indices(len(self))
    if start >= stop:
      return np.zeros([0, self.shape[1]], np.float32)
    values = self._read(slice(start, stop))
    if not np.isfinite(values).all():
      raise errors.UserError(
        f'Embeddings must be finite. Found NaN or infinity in rows {start} to '
        f'{stop} of {self._path}. Copy it again.'
      )
    return values


class _Place(NamedTuple):
  path: str
  file: Any  # An opened file of the safetensors library.
  name: str  # The tensor's name there.


class Tensors(Mapping[str, np.ndarray]):
  """The tensors of a directory by name, float32.

  They are in model.safetensors, or in parts with model.safetensors.index.json.
  """

  def __init__(self, directory: str):
    self._directory = directory
    self._copies = tempfile.TemporaryDirectory()  # Removed with this object.
    self._places: dict[str, _Place] = {}
    self._read: dict[str, np.ndarray] = {}
    for path in _paths(directory):
      self._add(path)

  def __iter__(self) -> Iterator[str]:
    return iter(self._places)

  def __len__(self) -> int:
    return len(self._places)

  def __contains__(self, name: object) -> bool:
    return name in self._places

  def __getitem__(self, name: str) -> np.ndarray:
    if name not in self._read:
      self._read[name] = _read(name, self._places[name])
    return self._read[name]

  def shape(self, name: str) -> tuple[int, ...]:
    """Returns a tensor's shape without reading it."""
    return tuple(self._slice(name).get_shape())

  def require(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises UserError unless the tensors exist with these shapes."""
    for name, shape in shapes.items():
      found = self.shape(name) if name in self else 'none'
      if found != shape:
        raise errors.UserError(
          f'Weights must fit their config. Found {name} of shape {found} in '
          f'{self._directory}, where the config needs {shape}. Copy both again.'
        )

  def rows(self, name: str) -> Optional[Rows]:
    """Returns a float32 matrix to read by rows, or None if it is missing."""
    if name not in self:
      return None
    path, shape = self._places[name].path, self.shape(name)
    dtype = self._slice(name).get_dtype()
    if dtype != 'F32' or len(shape) != 2:
      raise errors.UserError(
        f'{name} must be a matrix of F32. Found {dtype} of shape {shape} in '
        f'{path}. Save it again as float32.'
      )
    return Rows(shape, lambda rows: self._slice(name)[rows], path)

  def _slice(self, name: str) -> Any:
    place = self._places[name]
    return place.file.get_slice(place.name)

  def _add(self, path: str) -> None:
    """Adds a file's tensors, and the second names in the file's metadata."""
    local = path
    if '://' in path:
      local = os.path.join(self._copies.name, os.path.basename(path))
      tf.io.gfile.copy(path, local)
    file = weights.open_file(local)
    names = {name: name for name in file.keys()}  # noqa: SIM118, no mapping.
    aliases = file.metadata() or {}
    names |= {name: own for name, own in aliases.items() if own in names}
    for name, own in names.items():
      other = self._places.setdefault(name, _Place(path, file, own))
      if other.file is not file:
        raise errors.UserError(
          f'Each tensor must be in one file. Found {name} in {other.path} and '
          f'in {path}. Copy them again.'
        )


def _paths(directory: str) -> list[str]:
  whole = os.path.join(directory, _FILE)
  if tf.io.gfile.exists(whole):
    return [whole]
  name = f'{_FILE}.index.json'
  index = json_files.read(directory, name, _INDEX)
  if index is not None:
    names = {os.path.basename(part) for part in index['weight_map'].values()}
    paths = [os.path.join(directory, part) for part in sorted(names)]
    lacking = [path for path in paths if not tf.io.gfile.exists(path)]
    if lacking or not paths:
      raise errors.UserError(
        f'All parts of the weights must be there. Found no '
        f'{lacking[0] if lacking else "part"}, as '
        f'{os.path.join(directory, name)} says. Copy it again.'
      )
    return paths
  if tf.io.gfile.exists(os.path.join(directory, 'pytorch_model.bin')):
    raise errors.UserError(
      f'Weights must be safetensors. Found {directory}/pytorch_model.bin, a '
      'pickle, which could run code and is not opened. Where you trust it, '
      'convert it: model.save_pretrained(DIR, safe_serialization=True) of '
      'transformers 4.57.'
    )
  raise errors.UserError(f'Weights must exist. Found no file {whole}.')


def _read(name: str, place: _Place) -> np.ndarray:
  dtype = place.file.get_slice(place.name).get_dtype()
  if dtype not in _DTYPES:
    raise errors.UserError(
      f'Weights must be F64, F32, F16 or BF16. Found {name} of {dtype} in '
      f'{place.path}. Save the model again as float32.'
    )
  array = np.asarray(place.file.get_tensor(place.name), np.float32)
  if not np.isfinite(array).all():
    raise errors.UserError(
      f'Weights must be finite. Found NaN or infinity in {name} of '
      f'{place.path}. Choose another model, or copy it again.'
    )
  return array
