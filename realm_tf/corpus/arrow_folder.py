"""Streams the records of a Hugging Face dataset that was saved to disk.

The only import of pyarrow, done when such a dataset is asked for. What
`Dataset.save_to_disk` writes are Arrow streams, listed in state.json; they are
read in batches, memory-mapped.
"""

from collections.abc import Iterator
import json
import os
from typing import Any

from realm_tf import errors


def read(folder: str, split: str) -> Iterator[dict[str, Any]]:
  """Yields the records of a dataset, or of `split` of a DatasetDict.

  Raises:
    UserError: It is no such folder, has no such split, or is damaged.
  """
  import pyarrow as pa  # pylint: disable=g-import-not-at-top

  if os.path.exists(os.path.join(folder, 'dataset_dict.json')):
    folder = os.path.join(folder, split)
  path = os.path.join(folder, 'state.json')
  try:
    with open(path, encoding='utf-8') as file:
      names = [each['filename'] for each in json.load(file)['_data_files']]
    for name in names:
      path = os.path.join(folder, name)
      with pa.memory_map(path) as source, pa.ipc.open_stream(source) as stream:
        for batch in stream:
          yield from batch.to_pylist()
  except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
    raise errors.UserError(
      f'{path} must be a file that `save_to_disk` of the datasets library '
      f'wrote; it is not: {str(error)[:200]}. Check the folder and the split, '
      'or save it again.'
    ) from error
