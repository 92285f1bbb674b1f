"""Reads a directory's safetensors, each when asked for, or row by row.

A file is eight bytes with the length of a JSON header, the header with each
tensor's type, shape and place, and the tensors. `modeling.weights` reads whole
files; here a tensor of several gigabytes can stay where it is. The header is
compared with the file before anything is read.
"""

from collections.abc import Iterator, Mapping
import math
import os
import reprlib
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.importing import imported
from realm_tf.importing import json_file

_FILE = 'model.safetensors'
_DTYPES = {
  'F64': '<f8',
  'F32': '<f4',
  'F16': '<f2',
  'BF16': '<u2',  # Its bits.
}
# Bytes of types that no weight of ours has; position_ids are integers.
_OTHER_BYTES = {
  **dict.fromkeys(('I64', 'U64', 'C64'), 8),
  **dict.fromkeys(('I32', 'U32'), 4),
  **dict.fromkeys(('I16', 'U16'), 2),
  **dict.fromkeys(('I8', 'U8', 'BOOL'), 1),
  **dict.fromkeys(('F8_E5M2', 'F8_E4M3', 'F8_E8M0'), 1),
}
_MAX_HEADER_BYTES = 100_000_000  # As the format says.


class _Tensor(NamedTuple):
  path: str
  dtype: str
  shape: tuple[int, ...]
  begin: int
  end: int


class Tensors(Mapping[str, np.ndarray]):
  """The tensors of a directory by name, float32, each read when asked for.

  Args:
    directory: Directory, for errors.
    tensors: Places of the tensors.
  """

  def __init__(self, directory: str, tensors: Mapping[str, _Tensor]):
    self._directory = directory
    self._tensors = tensors
    self._read: dict[str, np.ndarray] = {}

  def __iter__(self) -> Iterator[str]:
    return iter(self._tensors)

  def __len__(self) -> int:
    return len(self._tensors)

  def __contains__(self, name: object) -> bool:
    return name in self._tensors

  def __getitem__(self, name: str) -> np.ndarray:
    if name not in self._read:
      self._read[name] = _read(name, self._tensors[name])
    return self._read[name]

  def shape(self, name: str) -> tuple[int, ...]:
    """Returns a tensor's shape without reading it."""
    return self._tensors[name].shape

  @property
  def num_values(self) -> int:
    """Number of numbers in all tensors."""
    return sum(math.prod(tensor.shape) for tensor in self._tensors.values())

  def require(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Raises UserError unless tensors are there and have these shapes."""
    for name, shape in shapes.items():
      found = self._tensors[name].shape if name in self._tensors else 'none'
      if found != shape:
        raise errors.UserError(
          f'Weights must fit their config. Found {name} of shape {found} in '
          f'{self._directory}, where the config needs {shape}. Copy both again.'
        )


def open_directory(directory: str) -> Tensors:
  """Opens the tensors of a directory, in one file or several.

  Args:
    directory: Directory with model.safetensors, or with parts of it and
      model.safetensors.index.json.

  Raises:
    UserError: There is no such file, or it is cut off or damaged.
  """
  tensors: dict[str, _Tensor] = {}
  for path in _paths(directory):
    for name, tensor in _header(path).items():
      if tensors.setdefault(name, tensor) is not tensor:
        raise _damaged(path, f'{name}, which {tensors[name].path} has, too')
  return Tensors(directory, tensors)


def rows(directory: str, name: str) -> Optional[imported.FileRows]:
  """Returns a matrix that is read row by row; None if there is none.

  Raises:
    UserError: It is no matrix of float32, or a file is damaged.
  """
  for path in _paths(directory):
    tensor = _header(path).get(name)
    if tensor is None:
      continue
    if tensor.dtype != 'F32' or len(tensor.shape) != 2:
      raise errors.UserError(
        f'{name} must be a matrix of F32. Found {tensor.dtype} of shape '
        f'{tensor.shape} in {tensor.path}. Save it again as float32.'
      )
    return imported.FileRows(tensor.path, tensor.begin, tensor.shape)
  return None


def _paths(directory):
  whole = os.path.join(directory, _FILE)
  if tf.io.gfile.exists(whole):
    return [whole]
  index = json_file.read(directory, f'{_FILE}.index.json')
  if index is not None:
    parts = index.get('weight_map', dict)
    file = json_file.JsonFile(index.path, parts)
    names = {os.path.basename(file.get(name, str)) for name in parts}
    paths = [os.path.join(directory, name) for name in sorted(names)]
    lacking = [path for path in paths if not tf.io.gfile.exists(path)]
    if lacking or not paths:
      raise errors.UserError(
        f'All parts of the weights must be there. Found no '
        f'{lacking[0] if lacking else "part"}, as {index.path} says. Copy it '
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


def _header(path) -> dict[str, _Tensor]:
  """Returns the places of a file's tensors, which fill the file exactly."""
  input_files.check(path)
  try:
    size = tf.io.gfile.stat(path).length
    with tf.io.gfile.GFile(path, 'rb') as file:
      length = int.from_bytes(file.read(8), 'little')
      if not 0 < length <= min(size - 8, _MAX_HEADER_BYTES):
        raise _damaged(path, f'a header of {length} bytes in a file of {size}')
      data = file.read(length)
  except tf.errors.OpError as error:
    raise _damaged(path, error.message) from error
  header = json_text.parse_object(
    data, f'The header of {path}', 'Copy it again.'
  )
  names = header.pop('__metadata__', None) or {}
  tensors = {
    name: _tensor(path, name, entry, 8 + length)
    for name, entry in header.items()
  }
  end = 8 + length
  for name, tensor in sorted(tensors.items(), key=lambda item: item[1][-2:]):
    if tensor.begin != end:
      raise _damaged(
        path, f'{name} at byte {tensor.begin}, where {end} is free'
      )
    end = tensor.end
  if end != size:
    raise _damaged(path, f'tensors that end at byte {end} of {size}')
  return {**_aliases(names, tensors), **tensors}


def _tensor(path, name, entry: Any, base: int) -> _Tensor:
  file = json_file.JsonFile(
    f'{name} in {path}', entry if type(entry) is dict else {}
  )
  dtype, shape = file.get('dtype', str), file.get('shape', list)
  offsets = file.get('data_offsets', list)
  numbers = [*shape, *offsets]
  if len(offsets) != 2 or not all(type(n) is int and n >= 0 for n in numbers):
    raise _damaged(
      path, f'{name} of shape {reprlib.repr(shape)} at {reprlib.repr(offsets)}'
    )
  if dtype in _DTYPES:
    bytes_each = np.dtype(_DTYPES[dtype]).itemsize
  else:
    bytes_each = _OTHER_BYTES.get(dtype, 0)
  begin, end = offsets
  if not bytes_each:
    raise _damaged(path, f'{name} of the unknown type {reprlib.repr(dtype)}')
  if end - begin != math.prod(shape) * bytes_each:
    raise _damaged(
      path,
      f'{name}, {dtype} of shape {reprlib.repr(shape)}, in {end - begin} bytes',
    )
  return _Tensor(path, dtype, tuple(shape), base + begin, base + end)


def _aliases(names: Any, tensors):
  """Returns tensors that were left out as they equal one that is there."""
  if type(names) is not dict:
    return {}
  return {
    name: tensors[other]
    for name, other in names.items()
    if type(other) is str and other in tensors
  }


def _read(name, tensor: _Tensor) -> np.ndarray:
  if tensor.dtype not in _DTYPES:
    raise errors.UserError(
      f'Weights must be F64, F32, F16 or BF16. Found {name} of '
      f'{tensor.dtype} in {tensor.path}. Save the model again as float32.'
    )
  with tf.io.gfile.GFile(tensor.path, 'rb') as file:
    file.seek(tensor.begin)
    data = file.read(tensor.end - tensor.begin)
  array = np.frombuffer(data, _DTYPES[tensor.dtype]).reshape(tensor.shape)
  if tensor.dtype == 'BF16':
    array = array.view(tf.bfloat16.as_numpy_dtype)
  array = np.asarray(array, np.float32)
  if not np.isfinite(array).all():
    raise errors.UserError(
      f'Weights must be finite. Found NaN or infinity in {name} of '
      f'{tensor.path}. Choose another model, or copy it again.'
    )
  return array


def _damaged(path, found):
  return errors.UserError(
    f'{path} must be a whole safetensors file. Found: {found}. Copy it again.'
  )
