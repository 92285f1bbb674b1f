"""Streams the rows of CSV and TSV files, as records if they have a header."""

from collections.abc import Container, Iterator
import csv
import sys
from typing import Any

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files

_DELIMITERS = '\t,;|'

csv.field_size_limit(sys.maxsize)  # A field may be a long article.


def delimiter(header: str, names: Container[str]) -> str:
  """Returns what separates the columns of a header; '' if it is none.

  Args:
    header: First line of a file.
    names: A header has one of these, in any case.
  """
  for mark in _DELIMITERS:
    try:
      columns = next(csv.reader([header], delimiter=mark), [])
    except csv.Error:
      continue
    if any(c.strip() in names or c.strip().lower() in names for c in columns):
      return mark
  return ''


def read(
  path: str,
  names: Container[str],
  counts: counts_lib.Counts = counts_lib.STRICT,
) -> Iterator[tuple[str, dict[str, Any]]]:
  """Yields ('file:line', record) of a file with a header.

  Args:
    names: Names of columns, one of which the header must have.
  """
  line = next((line for _, line in files.read_lines(path) if line.strip()), '')
  mark = delimiter(line, names)
  if not mark:
    raise errors.UserError(
      f'{path} must begin with the names of its columns; it begins with '
      f'{line.strip()[:60]!r}. Add a header, or name its columns by --id_key, '
      '--title_key and --text_key.'
    )
  table = rows(path, mark, counts)
  header = [name.strip() for name in next(table)[1]]

  def record(where: str, row: list[str]) -> dict[str, Any]:
    if len(row) != len(header):
      raise errors.UserError(
        f'{where} must have {len(header)} columns, as the header; it has '
        f'{len(row)}. Correct it.'
      )
    return dict(zip(header, row, strict=True))

  yield from counts.parsed(table, record)


def rows(
  path: str, mark: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> Iterator[tuple[str, list[str]]]:
  """Yields ('file:line', columns) of each row; quotes may enclose lines."""
  undecoded: list[errors.UserError] = []

  def lines() -> Iterator[str]:  # All, so that none is missing within quotes.
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
        f'{where} must be a row with quotes in pairs: {error}. Correct it.'
      )
    problem = undecoded[0] if undecoded else problem
    undecoded.clear()
    if problem:
      counts.error(problem)
    elif row:
      yield where, row
