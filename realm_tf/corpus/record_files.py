"""Recognizes JSON, CSV, TSV, Parquet and Arrow files and streams records."""

from collections.abc import Collection, Iterator
from typing import Any

from realm_tf.corpus import arrow_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import csv_records
from realm_tf.corpus import file_kinds
from realm_tf.corpus import files
from realm_tf.corpus import json_records

JSONL, CSV, PARQUET = FORMATS = 'jsonl', 'csv', 'parquet'


def recognize(path: str, names: Collection[str]) -> tuple[str, str]:
  """Returns (format or '', first line); a CSV header has one of `names`."""
  head = files.head(path)
  if head.startswith(file_kinds.TABLES):
    return PARQUET, ''
  file_kinds.check(path, head)
  first = next(iter(files.first_lines(head)), '')
  if first[:1] in ('{', '['):
    return JSONL, first
  return CSV if csv_records.delimiter(first, names) else '', first


def read(
  path: str,
  format: str,  # pylint: disable=redefined-builtin
  names: Collection[str],
  counts: counts_lib.Counts = counts_lib.STRICT,
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (place, record); reads the columns `names` of a table."""
  if format == PARQUET:
    return arrow_records.read(path, names)
  if format == CSV:
    return csv_records.read(path, names, counts)
  return json_records.read(path, counts)
