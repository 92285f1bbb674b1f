"""Reads JSON and safetensors of a Hugging Face directory.

JSON is checked by field. Tensors are read on demand, whole or by rows: large
ones stay in their files, which are mapped into memory. Files of an object store
are first copied to this machine.
"""

from collections.abc import Iterator, Mapping
import os
import tempfile
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.model import weights

_ADVICE = 'Choose another model for --source=hf:DIR, or copy it again.'
_FILE = 'model.safetensors'
_INDEX = {'weight_map': dict[str, str]}
_DTYPES = ('F64', 'F32', 'F16', 'BF16')

Fields = Mapping[str, json_text.Shape]


def read_json(
  directory: str, name: str, fields: Fields, required: bool = False
) -> dict[str, Any]:
  """Checks a file; returns its object without nulls, which count as missing.

  {} without the file, or UserError if it is `required`.
  """
  path = os.path.join(directory, name)
  if not (required or tf.io.gfile.exists(path)):
    return {}
  return check(json_text.read_object(path, _ADVICE), fields, path)


def check(values: Any, fields: Fields, path: str) -> dict[str, Any]:
  """Checks an object; returns it without its nulls."""
  if isinstance(values, dict):
    values = {name: v for name, v in values.items() if v is not None}
  return json_text.check(values, fields, path, _ADVICE)


def wrong(path: str, must: str, found: Any) -> errors.UserError:
  """Returns the error for wrong content of a file."""
  return errors.UserError(f'{path} must {must}. Found {found}. {_ADVICE}')


class Rows:
  """Embeddings of blocks, [N, D], a tensor of a file that is read by slices.

  The authors' block embeddings take 6.84 GB (Section 3.3). An index copies them
  shard by shard, and checks them.
  """

  def __init__(self, tensor: Any):
    self._tensor = tensor
    self.shape: tuple[int, ...] = tuple(tensor.get_shape())

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: slice) -> np.ndarray:
    return self._tensor[rows]


class Tensors(Mapping[str, np.ndarray]):
  """The tensors of a directory by name, float32.

  They are in model.safetensors, or in parts with model.safetensors.index.json.
  """

  def __init__(self, directory: str):
    self._copies = tempfile.TemporaryDirectory()  # Removed with this object.
    # Name -> path, a file opened by the library, and the tensor's name there.
    self._places: dict[str, tuple[str, Any, str]] = {}
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
    if name in self._read:
      return self._read[name]
    path, file, own = self._places[name]
    dtype = file.get_slice(own).get_dtype()
    if dtype not in _DTYPES:
      raise errors.UserError(
        f'Weights must be F64, F32, F16 or BF16. Found {name} of {dtype} in '
        f'{path}. Save the model again as float32.'
      )
    array = np.asarray(file.get_tensor(own), np.float32)
    if not np.isfinite(array).all():
      raise errors.UserError(
        f'Weights must be finite. Found NaN or infinity in {name} of {path}. '
        'Choose another model, or copy it again.'
      )
    self._read[name] = array
    return array

  def rows(self, name: str) -> Rows | None:
    """Returns a matrix to read by rows, or None if it is missing."""
    if name not in self:
      return None
    _, file, own = self._places[name]
    return Rows(file.get_slice(own))

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
      if name in self:
        raise errors.UserError(
          f'Each tensor must be in one file. Found {name} in '
          f'{self._places[name][0]} and in {path}. Copy them again.'
        )
      self._places[name] = path, file, own


def _paths(directory: str) -> list[str]:
  """Returns the files of weights; UserError without all of them."""
  whole = os.path.join(directory, _FILE)
  if tf.io.gfile.exists(whole):
    return [whole]
  index_path = f'{whole}.index.json'
  if tf.io.gfile.exists(index_path):
    parts = read_json(directory, f'{_FILE}.index.json', _INDEX)['weight_map']
    names = sorted({os.path.basename(part) for part in parts.values()})
    paths = [os.path.join(directory, name) for name in names]
    lacking = [path for path in paths if not tf.io.gfile.exists(path)]
    if lacking or not paths:
      raise errors.UserError(
        'All parts of the weights must be there. Found no '
        f'{lacking[0] if lacking else "part"}, as {index_path} says. Copy it '
        'again.'
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
