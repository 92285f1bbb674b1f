"""Streams the records of a file: JSON, CSV or TSV, Parquet or Arrow.

Formats are recognized by content, not by name.
"""

from collections.abc import Collection, Iterator
from typing import Any, Optional

from realm_tf.corpus import arrow_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import csv_records
from realm_tf.corpus import file_kinds
from realm_tf.corpus import files
from realm_tf.corpus import json_records

JSONL, CSV, PARQUET = FORMATS = 'jsonl', 'csv', 'parquet'


def recognize(path: str, head: bytes, names: Collection[str]) -> str:
  """Returns the format of a file; '' if it has no records.

  Args:
    path: File, for errors.
    head: Its first bytes, of `files.head`.
    names: The first line of a CSV file has one of these.
  """
  if head.startswith(file_kinds.TABLES):
    return PARQUET
  file_kinds.check(path, head)
  first = first_line(head)
  if first[:1] in ('{', '['):
    return JSONL
  return CSV if csv_records.delimiter(first, names) else ''


def first_line(head: bytes) -> str:
  """Returns the first line that is not blank, without its byte order mark."""
  text = head.decode('utf-8', 'replace').lstrip(files.BYTE_ORDER_MARK + ' \t')
  return next((line for line in text.splitlines() if line.strip()), '').strip()


def read(
  path: str,
  format: str,  # pylint: disable=redefined-builtin
  names: Collection[str],
  counts: Optional[counts_lib.Counts] = None,
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields (place, record) of a file.

  Args:
    path: File.
    format: One of FORMATS.
    names: Columns to read, of a table; a CSV file's header must have one.
    counts: May skip bad records.
  """
  if format == PARQUET:
    return arrow_records.read(path, names)
  if format == CSV:
    return csv_records.read(path, names, counts)
  return json_records.read(path, counts)
