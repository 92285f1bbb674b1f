"""Files of blocks or queries, from Beam's workers to the main process."""

from collections.abc import Mapping
import io
from typing import Union
import uuid

import numpy as np
import tensorflow as tf

from realm_tf.records import rows as rows_lib

_Columns = Mapping[str, Union[np.ndarray, rows_lib.Rows]]


def write(columns: _Columns, path: str) -> None:
  """Writes or replaces a file of columns by name; `path` may be remote."""
  arrays = {}
  for name, column in columns.items():
    if isinstance(column, rows_lib.Rows):
      column, arrays[f'{name}.lengths'] = column
    arrays[name] = column
  buffer = io.BytesIO()
  np.savez(buffer, **arrays)
  # Two workers of Beam may write the same batch at the same time.
  part = f'{path}.{uuid.uuid4().hex[:8]}.part'
  with tf.io.gfile.GFile(part, 'wb') as file:
    file.write(buffer.getvalue())
  tf.io.gfile.rename(part, path, overwrite=True)


def read(path: str) -> _Columns:
  """Returns the columns of a file by name."""
  with tf.io.gfile.GFile(path, 'rb') as file:
    columns = dict(np.load(io.BytesIO(file.read()), allow_pickle=False))
  for name in [name for name in columns if f'{name}.lengths' in columns]:
    lengths = columns.pop(f'{name}.lengths')
    columns[name] = rows_lib.Rows(columns[name], lengths)
  return columns
