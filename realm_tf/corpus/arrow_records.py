"""Streams the records of Parquet and Arrow files, and of folders of these.

Only this file imports pyarrow, when it reads such a file. It maps the file into
memory and reads the requested columns in batches.
"""

from collections.abc import Container, Iterator
import os
from typing import Any

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import files

_BATCH_ROWS = 1024


def read(
  path: str, names: Container[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file, row number', record) of a local Parquet or Arrow file.

  Reads the columns in `names`, in any case; without any such column, all.
  """
  import pyarrow as pa  # pylint: disable=g-import-not-at-top

  number = 0
  try:
    for batch in _batches(path, names):
      for record in batch.to_pylist():
        number += 1
        yield f'{path}, row {number}', record
  except (OSError, TypeError, ValueError, pa.ArrowException) as error:
    raise errors.UserError(
      f'{path} must be a Parquet or an Arrow file. Found other data from row '
      f'{number + 1} on: {str(error)[:200]}. Check it, or save it again.'
    ) from error


def read_folder(
  folder: str, split: str, names: Container[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields `Dataset.save_to_disk`'s records, or `split` of a DatasetDict's."""
  if os.path.exists(os.path.join(folder, 'dataset_dict.json')):
    folder = os.path.join(folder, split)
  path = os.path.join(folder, 'state.json')
  advice = 'Check the folder and the split, or save it again.'
  if not os.path.isfile(path):
    raise errors.UserError(
      f'{path} must be a file that `save_to_disk` of the datasets library '
      f'wrote. Found no file. {advice}'
    )
  with files.reading(path) as file:
    state = json_text.parse_object(file.read(), path, advice)
  try:
    parts = [os.path.join(folder, f['filename']) for f in state['_data_files']]
  except (KeyError, TypeError) as error:
    raise errors.UserError(
      f'{path} must list the files of the dataset. Found no list. {advice}'
    ) from error
  for part in parts:
    yield from read(part, names)


def _batches(path: str, names: Container[str]) -> Iterator:
  import pyarrow as pa  # pylint: disable=g-import-not-at-top
  from pyarrow import parquet  # pylint: disable=g-import-not-at-top

  with pa.memory_map(path) as source:
    magic = source.read(6)
    source.seek(0)
    if magic[:4] == b'PAR1':
      with parquet.ParquetFile(source) as file:
        columns = _columns(file.schema_arrow.names, names)
        yield from file.iter_batches(_BATCH_ROWS, columns=columns)
      return
    is_file = magic == b'ARROW1'
    with (pa.ipc.open_file if is_file else pa.ipc.open_stream)(source) as table:
      columns = _columns(table.schema.names, names)
      numbers = range(table.num_record_batches) if is_file else ()
      for batch in map(table.get_batch, numbers) if is_file else table:
        for start in range(0, len(batch), _BATCH_ROWS):
          yield batch.select(columns).slice(start, _BATCH_ROWS)


def _columns(columns, names) -> list[str]:
  return [c for c in columns if c in names or c.lower() in names] or columns
