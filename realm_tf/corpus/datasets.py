"""Streams the records of 'tfds:NAME[@SPLIT]' and 'hf_disk:DIR[@SPLIT]'.

Only this file imports tensorflow_datasets, when it reads such a dataset.
"""

from collections.abc import Container, Iterator
import re
from typing import Any, Optional

from realm_tf import errors
from realm_tf.corpus import arrow_records

_TFDS, _HF_DISK = PREFIXES = 'tfds:', 'hf_disk:'

# Marks in wiki40b's texts.
_WIKI40B_TITLE = re.compile(r'\s*_START_ARTICLE_\n(.*)\n')
_WIKI40B_MARK = re.compile(r'_START_(SECTION|PARAGRAPH)_\n|_NEWLINE_')


def read(
  item: str, names: Container[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (place, record) of a dataset; removes wiki40b's marks from texts.

  Args:
    item: 'tfds:NAME' for tfds.load, or 'hf_disk:DIR'. A suffix '@SPLIT'
      replaces the split 'train'; for 'tfds:' it may be a slice.
  """
  name, split = _split(item)
  if name.startswith(_HF_DISK):
    folder = name.removeprefix(_HF_DISK)
    yield from arrow_records.read_folder(folder, split, names)
    return
  for number, found in enumerate(_load_tfds(name, split), 1):
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
) -> Iterator[tuple[str, str, list[Optional[tuple[int, int]]]]]:
  """Yields (title, text, character spans) of a TensorFlow dataset.

  A span in bytes that cuts a character in two becomes None.
  """
  if item.startswith(_HF_DISK):
    raise errors.UserError(
      f"Tagged sentences of a dataset must be '{_TFDS}NAME'. Found {item}. "
      'Write them to a JSONL file.'
    )
  name, split = _split(item)
  for record in _load_tfds(name, split):
    if not {'text', 'spans'}.issubset(record):
      raise errors.UserError(
        f"'{name}' must have tagged sentences, with text and spans. Found "
        f'{", ".join(record)}. Choose e.g. salient_span_wikipedia/sentences.'
      )
    text, spans = record['text'], record['spans']
    found = [
      _characters(text, int(start), int(end))
      for start, end in zip(spans['start'], spans['limit'], strict=True)
    ]
    yield _as_text(record.get('title', b'')), _as_text(text), found


def _split(item: str) -> tuple[str, str]:
  name, _, split = item.partition('@')
  return name, split or 'train'


def _load_tfds(name: str, split: str) -> Iterator[dict[str, Any]]:
  import tensorflow_datasets as tfds  # pylint: disable=g-import-not-at-top

  name = name.removeprefix(_TFDS)
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


def _characters(text: bytes, start: int, end: int) -> Optional[tuple[int, int]]:
  try:
    before, inside = text[:start].decode(), text[start:end].decode()
  except UnicodeDecodeError:
    return None
  return len(before), len(before) + len(inside)
