"""Recognizes JSON, CSV, TSV, Parquet and Arrow files and streams records."""

from collections.abc import Collection, Container, Iterator
import csv
import sys
from typing import Any

from realm_tf import errors
from realm_tf.corpus import arrow_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import json_records

JSONL, CSV, PARQUET = FORMATS = 'jsonl', 'csv', 'parquet'
_DELIMITERS = '\t,;|'

csv.field_size_limit(sys.maxsize)  # A field may be a long article.


def recognize(path: str, names: Collection[str]) -> tuple[str, str]:
  """Returns (format or '', first line); a CSV header has one of `names`."""
  head = files.head(path)
  if head.startswith(files.TABLES):
    return PARQUET, ''
  files.check_text(path, head)
  first = next(iter(files.first_lines(head)), '')
  if first[:1] in ('{', '['):
    return JSONL, first
  return CSV if delimiter(first, names) else '', first


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
    return read_csv(path, names, counts)
  return json_records.read(path, counts)


def delimiter(header: str, names: Container[str]) -> str:
  """Returns a header's delimiter; '' if it has none of `names` in any case."""
  for mark in _DELIMITERS:
    try:
      columns = next(csv.reader([header], delimiter=mark), [])
    except csv.Error:
      continue
    if any(c.strip() in names or c.strip().lower() in names for c in columns):
      return mark
  return ''


def read_csv(
  path: str,
  names: Container[str],
  counts: counts_lib.Counts = counts_lib.STRICT,
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file:line', record); the header must have a column in `names`."""
  line = next((line for _, line in files.read_lines(path) if line.strip()), '')
  mark = delimiter(line, names)
  if not mark:
    raise errors.UserError(
      f'{path} must begin with the names of its columns. Found '
      f'{line.strip()[:60]!r}. Add a header, or name its columns by --id_key, '
      '--title_key and --text_key.'
    )
  table = rows(path, mark, counts)
  header = [name.strip() for name in next(table)[1]]

  def record(where: str, row: list[str]) -> dict[str, Any]:
    if len(row) != len(header):
      raise errors.UserError(
        f'{where} must have {len(header)} columns, as the header. Found '
        f'{len(row)}. Correct it.'
      )
    return dict(zip(header, row, strict=True))

  yield from counts.parsed(table, record)


def rows(
  path: str, mark: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> Iterator[tuple[str, list[str]]]:
  """Yields ('file:line', columns); a quoted field may span lines."""
  undecoded: list[errors.UserError] = []

  def lines() -> Iterator[str]:  # Keeps bad lines, which may be inside quotes.
    for _, line, problem in files.read_all_lines(path):
      if problem:
        undecoded.append(problem)
      yield line

  reader = csv.reader(lines(), delimiter=mark, strict=True)
  while True:
    where = f'{path}:{reader.line_num + 1}'
    problem, row = None, []
    try:
      row = next(reader)
    except StopIteration:
      return
    except csv.Error as error:
      problem = errors.UserError(
        f'{where} must be a row with quotes in pairs. Found: {error}. Correct '
        'it.'
      )
    problem = undecoded[0] if undecoded else problem
    undecoded.clear()
    if problem:
      counts.error(problem)
    elif row:
      yield where, row
