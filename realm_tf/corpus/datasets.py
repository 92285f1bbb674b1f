"""Records of Parquet and Arrow files, and of 'tfds:NAME' and 'hf_disk:DIR'.

Only this file imports pyarrow and tensorflow_datasets, when it reads such data.
"""

from collections.abc import Collection, Iterator
import os
import re
from typing import Any, TypedDict

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.corpus import files
from realm_tf.corpus import record_fields

_TFDS, _HF_DISK = PREFIXES = 'tfds:', 'hf_disk:'
_BATCH_ROWS = 1024

# Marks in wiki40b's texts.
_WIKI40B_TITLE = re.compile(r'\s*_START_ARTICLE_\n(.*)\n')
_WIKI40B_MARK = re.compile(r'_START_(SECTION|PARAGRAPH)_\n|_NEWLINE_')


class _File(TypedDict):
  """One file of a saved dataset, in its state.json."""

  filename: str


_SAVED = {'_data_files': list[_File]}


def read(item: str, names: Collection[str]) -> record_fields.Records:
  """Yields (place, record) of a dataset; removes wiki40b's marks from texts.

  Args:
    item: 'tfds:NAME' for tfds.load, or 'hf_disk:DIR'. A suffix '@SPLIT'
      replaces the split 'train'; for 'tfds:' it may be a slice.
  """
  if item.startswith(_HF_DISK):
    for path in _saved_files(item):
      yield from read_table(path, names)
    return
  for number, found in enumerate(_load_tfds(item), 1):
    record = _as_text(found)
    text = record.get('text')
    if isinstance(text, str):
      title = _WIKI40B_TITLE.match(text)
      if 'title' not in record:
        record['title'] = title[1] if title else ''
        text = text[title.end() :] if title else text
      record['text'] = _WIKI40B_MARK.sub('\n', text).strip()
    yield f'{item}, record {number}', record


def read_tagged_sentences(
  item: str,
) -> Iterator[tuple[str, str, list[tuple[int, int]]]]:
  """Yields (title, text, character spans) of a TensorFlow dataset."""
  if item.startswith(_HF_DISK):
    raise errors.UserError(
      f"Tagged sentences of a dataset must be '{_TFDS}NAME'. Found {item}. "
      'Write them to a JSONL file.'
    )
  for record in _load_tfds(item):
    if not {'text', 'spans'}.issubset(record):
      raise errors.UserError(
        f"'{item}' must have tagged sentences, with text and spans. Found "
        f'{", ".join(record)}. Choose e.g. salient_span_wikipedia/sentences.'
      )
    text, spans = record['text'], record['spans']
    starts, ends = (  # In the dataset they are bytes.
      [len(_as_text(text[:place])) for place in spans[name]]
      for name in ('start', 'limit')
    )
    found = [*zip(starts, ends, strict=True)]
    yield _as_text(record.get('title', b'')), _as_text(text), found


def read_table(path: str, names: Collection[str]) -> record_fields.Records:
  """Yields ('file, row number', record) of a local Parquet or Arrow file.

  Reads the columns in `names`, in any case; without any such column, all.
  """
  import pyarrow as pa  # pylint: disable=g-import-not-at-top

  number = 0
  try:
    for batch in _batches(path, names):
      for start in range(0, len(batch), _BATCH_ROWS):
        for record in batch.slice(start, _BATCH_ROWS).to_pylist():
          number += 1
          yield f'{path}, row {number}', record
  except (OSError, TypeError, ValueError, pa.ArrowException) as error:
    raise errors.UserError(
      f'{path} must be a Parquet or an Arrow file. Found other data from row '
      f'{number + 1} on: {str(error)[:200]}. Check it, or save it again.'
    ) from error


def _batches(path: str, names: Collection[str]) -> Iterator:
  import pyarrow as pa  # pylint: disable=g-import-not-at-top
  from pyarrow import parquet  # pylint: disable=g-import-not-at-top

  def columns(schema: pa.Schema) -> list[str]:
    record_fields.check_names(path, schema.names, names)
    found = [c for c in schema.names if c in names or c.lower() in names]
    return found or schema.names

  magic = files.head(path)[:4]
  with pa.memory_map(os.fsencode(path)) as source:
    if magic == files.PARQUET:
      with parquet.ParquetFile(source) as file:
        chosen = columns(file.schema_arrow)
        yield from file.iter_batches(_BATCH_ROWS, columns=chosen)
    elif magic == files.ARROW_STREAM:  # `Dataset.save_to_disk` writes these.
      with pa.ipc.open_stream(source) as stream:
        for batch in stream:
          yield batch.select(columns(stream.schema))
    else:
      with pa.ipc.open_file(source) as table:
        for number in range(table.num_record_batches):
          yield table.get_batch(number).select(columns(table.schema))


def _saved_files(item: str) -> list[str]:
  """Returns the files of `Dataset.save_to_disk`, or of a split."""
  folder, split = _split(item)
  if os.path.exists(os.path.join(folder, 'dataset_dict.json')):
    folder = os.path.join(folder, split)
  path = os.path.join(folder, 'state.json')
  advice = 'Check the folder and the split, or save it again.'
  if not os.path.exists(path):
    raise errors.UserError(
      f'{path} must be a file that `save_to_disk` of the datasets library '
      f'wrote. Found no file. {advice}'
    )
  state = json_text.read_object(path, advice)
  json_text.check(state, _SAVED, path, advice)
  return [os.path.join(folder, f['filename']) for f in state['_data_files']]


def _split(item: str) -> tuple[str, str]:
  """Returns the name without its prefix, and the split."""
  name, split = input_files.split_of(item.partition(':')[2])
  return name, split or 'train'


def _load_tfds(item: str) -> Iterator[dict[str, Any]]:
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  name, split = _split(item)
  try:
    return iter(tfds.as_numpy(tfds.load(name, split=split)))
  except Exception as error:  # tfds.load raises dozens of types.
    raise errors.UserError(
      f"'{_TFDS}{name}' must be a dataset, and {split!r} a split of it, that "
      f'tfds.load can prepare. Found: {str(error)[:200]}'
    ) from error


def _as_text(value: Any) -> Any:
  """Converts NumPy's types to Python's, and bytes to text."""
  if isinstance(value, bytes):
    return value.decode('utf-8', 'replace')
  if isinstance(value, dict):
    return {key: _as_text(each) for key, each in value.items()}
  value = value.tolist() if hasattr(value, 'tolist') else value
  return [*map(_as_text, value)] if isinstance(value, list) else value
