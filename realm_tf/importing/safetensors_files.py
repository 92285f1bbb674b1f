"""Reads a directory's safetensors, large matrices row by row.

A file is eight bytes with the length of a JSON header, the header with each
tensor's type, shape and place, and the tensors. `modeling.weights` reads whole
files; here a tensor of several gigabytes can stay where it is.
"""

from collections.abc import Collection
import json
import os
from typing import NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.importing import imported

_FILE = 'model.safetensors'
_DTYPES = {
  'F64': '<f8',
  'F32': '<f4',
  'F16': '<f2',
  'BF16': '<u2',  # Its bits.
  'I64': '<i8',
  'I32': '<i4',
  'I16': '<i2',
  'I8': 'i1',
  'U8': 'u1',
  'BOOL': '?',
}
_MAX_HEADER_BYTES = 100_000_000  # As the format says.


class _Tensor(NamedTuple):
  path: str
  dtype: str
  shape: tuple[int, ...]
  begin: int
  end: int


def read(
  directory: str, without: Collection[str] = ()
) -> dict[str, np.ndarray]:
  """Reads the tensors of a directory, in one file or several.

  Args:
    directory: Directory with model.safetensors, or with parts of it and
      model.safetensors.index.json.
    without: Names to leave out.

  Raises:
    UserError: There is no such file, or it is cut off or damaged.
  """
  arrays = {}
  for name, tensor in _tensors(directory).items():
    if name not in without:
      with tf.io.gfile.GFile(tensor.path, 'rb') as file:
        file.seek(tensor.begin)
        data = file.read(tensor.end - tensor.begin)
      arrays[name] = _array(data, name, tensor)
  return arrays


def rows(directory: str, name: str) -> Optional[imported.FileRows]:
  """Returns a matrix that is read row by row; None if there is none.

  Raises:
    UserError: It is no matrix of float32, or a file is damaged.
  """
  tensor = _tensors(directory).get(name)
  if tensor is None:
    return None
  if tensor.dtype != 'F32' or len(tensor.shape) != 2:
    raise errors.UserError(
      f'{name} must be a matrix of F32. Found {tensor.dtype} of shape '
      f'{tensor.shape} in {tensor.path}. Save it again as float32.'
    )
  return imported.FileRows(tensor.path, tensor.begin, tensor.shape)


def _tensors(directory) -> dict[str, _Tensor]:
  tensors = {}
  for path in _paths(directory):
    tensors.update(_header(path))
  return tensors


def _paths(directory):
  whole = os.path.join(directory, _FILE)
  if tf.io.gfile.exists(whole):
    return [whole]
  if tf.io.gfile.exists(whole + '.index.json'):
    with tf.io.gfile.GFile(whole + '.index.json') as file:
      try:
        parts = set(json.loads(file.read())['weight_map'].values())
      except (ValueError, KeyError, AttributeError) as error:
        raise _damaged(whole + '.index.json', error) from error
    return [os.path.join(directory, os.path.basename(p)) for p in sorted(parts)]
  if tf.io.gfile.exists(os.path.join(directory, 'pytorch_model.bin')):
    raise errors.UserError(
      f'Weights must be safetensors. Found {directory}/pytorch_model.bin, a '
      'pickle, which could run code and is not opened. Where you trust it, '
      'convert it: model.save_pretrained(DIR, safe_serialization=True) of '
      'transformers 4.57.'
    )
  raise errors.UserError(f'Weights must exist. Found no file {whole}.')


def _header(path) -> dict[str, _Tensor]:
  """Returns the places of a file's tensors, all of them inside the file."""
  try:
    size = tf.io.gfile.stat(path).length
    with tf.io.gfile.GFile(path, 'rb') as file:
      length = int.from_bytes(file.read(8), 'little')
      if not 0 < length <= min(size - 8, _MAX_HEADER_BYTES):
        raise ValueError(f'a header of {length} bytes in a file of {size}')
      header = json.loads(file.read(length))
    header.pop('__metadata__', None)
    tensors = {}
    for name, entry in header.items():
      begin, end = (8 + length + int(n) for n in entry['data_offsets'])
      if not 8 + length <= begin <= end <= size:
        raise ValueError(f'{name} ends at byte {end} of {size}')
      shape = tuple(int(n) for n in entry['shape'])
      tensors[name] = _Tensor(path, entry['dtype'], shape, begin, end)
    return tensors
  except (tf.errors.OpError, ValueError, KeyError, TypeError) as error:
    raise _damaged(path, error) from error
  except AttributeError as error:  # JSON, but of another form.
    raise _damaged(path, error) from error


def _array(data, name, tensor):
  try:
    array = np.frombuffer(data, _DTYPES[tensor.dtype]).reshape(tensor.shape)
  except (KeyError, ValueError) as error:
    raise _damaged(tensor.path, f'{name}: {error}') from error
  if tensor.dtype == 'BF16':
    return array.view(tf.bfloat16.as_numpy_dtype).astype(np.float32)
  return array


def _damaged(path, error):
  return errors.UserError(
    f'{path} must be a whole safetensors file. Found: {error}. Copy it again.'
  )
