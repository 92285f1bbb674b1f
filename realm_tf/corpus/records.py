"""Records of many tools' files: JSON, CSV, TSV, Parquet and Arrow.

A JSON file is lines, one array, or indented objects. DPR's and FiD's arrays are
often of gigabytes; SQuAD's file is one object.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
import csv
import itertools
import json
import re
import sys
from typing import Any, cast

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import files
from realm_tf.corpus import record_fields

JSONL, CSV, PARQUET = FORMATS = 'jsonl', 'csv', 'parquet'
_DELIMITERS = ',\t;|'  # One column is CSV.
_CHUNK = 1 << 20  # Characters of JSON read at once.
_SPACE = re.compile(r'\s*')
_GLUE = re.compile(r'}\s*(?={)')
_NUM_SNIFFED = 5  # Lines that must have the same form.
# An id and a text, but no list.
_PAIR = re.compile(r'\S+\t(?!"?\[)[^\t]+')
_PAIR_NAMES = ['id', 'text']
_ESCAPE = re.compile(r'\\([\\"])')

csv.field_size_limit(sys.maxsize)  # A field may be a long article.


def recognize(path: str, names: Collection[str]) -> tuple[str, str]:
  """Returns (format or '', first line); a CSV header has one of `names`.

  MS MARCO's files of ids and texts have none.
  """
  head = files.head(path)
  if head.startswith(files.TABLES):
    return PARQUET, ''
  files.check_text(path, head)
  lines = files.first_lines(head, _NUM_SNIFFED) or ['']
  if lines[0][:1] in ('{', '['):
    return JSONL, lines[0]
  is_csv = delimiter(lines[0], names) or _are_pairs(lines)
  return CSV if is_csv else '', lines[0]


def read(
  path: str,
  format: str,  # pylint: disable=redefined-builtin
  names: Collection[str],
  counts: counts_lib.Counts = counts_lib.STRICT,
) -> record_fields.Records:
  """Yields (place, record); reads the columns `names` of a table.

  `counts` may skip bad lines and rows. A syntax error in an array or in
  indented objects always raises UserError.
  """
  if format == PARQUET:
    return datasets.read_table(path, names)
  if format == CSV:
    return _read_csv(path, names, counts)
  # Two lines tell JSON lines from one indented object.
  first = files.first_lines(files.head(path), 2)
  is_array = bool(first) and first[0].startswith('[')
  if is_array or (len(first) == 2 and not any(map(_is_object, first))):
    return counts.parsed(_values(path, is_array), as_object)
  return read_json_lines(path, counts)


def read_json_lines(
  path: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> record_fields.Records:
  """Yields ('file:line', object) of each line; `counts` may skip bad ones."""
  lines = (
    (f'{path}:{number}', part)
    for number, line in files.read_lines(path, counts)
    for part in _unglued(line.strip())
    if part
  )
  return counts.parsed(
    lines, lambda where, line: json_text.parse_object(line, where)
  )


def _unglued(line: str) -> list[str]:
  """Returns the objects of a line; `cat` glues the lines of two files."""
  starts = [0]
  try:
    while _GLUE.search(line, starts[-1]):
      end = json_text.take(line, starts[-1])[1]
      glue = _GLUE.match(line, end - 1)
      if not glue:
        break
      starts.append(glue.end())
  except ValueError:  # The parser of the line says more.
    pass
  return [line[a:b] for a, b in itertools.pairwise([*starts, len(line)])]


def read_texts(paths: Iterable[str]) -> Iterator[str]:
  """Returns each JSON line's "text"; reports missing files at once."""
  found = [file for path in paths for file in files.find_files(path)]
  lines = itertools.chain.from_iterable(map(read_json_lines, found))
  return (
    record_fields.text(where, 'text', line.get('text')) for where, line in lines
  )


def delimiter(header: str, names: Collection[str]) -> str:
  """Returns a header's delimiter; '' if it has none of `names` in any case."""
  for mark in _DELIMITERS:
    columns = {column.strip(' "') for column in header.strip().split(mark)}
    if not {*columns, *map(str.lower, columns)}.isdisjoint(names):
      return mark
  return ''


def _are_pairs(lines: list[str]) -> bool:
  """Returns whether lines are ids and texts, without a header."""
  is_header = not lines[0][:1].isdigit() and ' ' not in lines[0]
  return not is_header and all(map(_PAIR.fullmatch, lines))


def _read_csv(
  path: str, names: Collection[str], counts: counts_lib.Counts
) -> record_fields.Records:
  """Yields ('file:line', record) of rows below a header, or of pairs."""
  first = files.first_lines(files.head(path), _NUM_SNIFFED) or ['']
  mark, header = delimiter(first[0], names), _PAIR_NAMES
  if mark:
    table = rows(path, mark, counts)
    header = [name.strip() for name in next(table)[1]]
    record_fields.check_names(path, header, names)
  elif _are_pairs(first):  # Quotes have no meaning.
    table = (
      (f'{path}:{number}', line.rstrip('\r\n').split('\t'))
      for number, line in files.read_lines(path, counts)
      if line.strip()
    )
  else:
    raise errors.UserError(
      f'{path} must begin with the names of its columns. Found '
      f'{first[0][:60]!r}. Add a header, or name its columns by --id_key, '
      '--title_key and --text_key.'
    )

  def record(where: str, row: list[str]) -> dict[str, Any]:
    if len(row) != len(header):
      raise errors.UserError(
        f'{where} must have {len(header)} columns, as the first line. Found '
        f'{len(row)}. Correct it.'
      )
    return dict(zip(header, row, strict=True))

  yield from counts.parsed(table, record)


def rows(
  path: str, mark: str, counts: counts_lib.Counts = counts_lib.STRICT
) -> Iterator[tuple[str, list[str]]]:
  """Yields ('file:line', columns); a quoted field may span lines."""
  problems: list[errors.UserError] = []

  def lines() -> Iterator[str]:  # Keeps bad lines, which may be inside quotes.
    is_escaped = False if mark == '\t' else None  # Not known.
    for _, line, problem in files.read_all_lines(path):
      if problem:
        problems.append(problem)
      if is_escaped is None and _ESCAPE.search(line):
        is_escaped = _is_escaped(path, mark)
      yield _doubled(line) if is_escaped else line

  given = _with_quotes_as_text(lines()) if mark == '\t' else lines()
  reader = csv.reader(given, delimiter=mark, strict=True)
  row: list[str] | None = []
  while row is not None:
    where = f'{path}:{reader.line_num + 1}'
    try:
      row = next(reader, None)
    except csv.Error as error:
      problems.append(
        errors.UserError(
          f'{where} must be a row with quotes in pairs. Found: {error}. '
          'Correct it.'
        )
      )
    if problems:
      counts.error(problems[0])
      problems.clear()
    elif row:
      yield where, row


def _is_escaped(path: str, mark: str) -> bool:
  r"""Returns whether \" is a quote in a field, as Spark writes it, for ""."""

  def are_rows(change: Callable[[str], str]) -> bool:
    lines = (change(line) for _, line, _ in files.read_all_lines(path))
    table = csv.reader(lines, delimiter=mark, strict=True)
    try:
      return len({len(row) for row in table if row}) == 1
    except csv.Error:
      return False

  return not are_rows(str) and are_rows(_doubled)


def _doubled(line: str) -> str:
  r"""Returns a line with "" for \" and \ for \\."""
  return _ESCAPE.sub(lambda m: '""' if m[1] == '"' else m[1], line)


def _with_quotes_as_text(lines: Iterator[str]) -> Iterator[str]:
  """Yields lines of TSV in which csv takes stray quotation marks for text.

  A line with all columns is a row, unless the next line ends a field of it.
  """
  number = None
  for line, following in itertools.pairwise(itertools.chain(lines, [''])):
    number = line.count('\t') if number is None else number
    is_row = line.count('\t') == number
    if '"' in line and is_row and following.count('\t') in (number, 0):
      text = line.rstrip('\r\n')
      is_open = following and not following.count('\t') and number
      fields = text.split('\t')
      if not (is_open and fields[-1].startswith('"')):
        line = '\t'.join(map(_quoted, fields)) + line[len(text) :]
    yield line


def _quoted(field: str) -> str:
  """Returns a field for csv; it may be quoted already."""
  is_quoted = len(field) > 1 and field[0] == field[-1] == '"'
  inner = field[1:-1].replace('""', '') if is_quoted else field
  if '"' not in inner:
    return field
  if is_quoted and '"' not in inner.replace('\\"', ''):
    return _doubled(field)
  return '"' + field.replace('"', '""') + '"'


def _is_object(line: str) -> bool:
  try:
    return isinstance(json_text.take(line, 0)[0], dict)
  except ValueError:
    return False


def as_object(
  where: str, value: Any, names: Collection[str] = ()
) -> dict[str, Any]:
  """Returns an object; UserError for another value, or one of `names` twice."""
  if not isinstance(value, dict):
    raise errors.UserError(
      f'{where} must be a JSON object. Found {type(value).__name__}. Correct '
      'it.'
    )
  record_fields.check_names(where, [*value], names)
  return value


def _values(path: str, is_array: bool) -> Iterator[tuple[str, Any]]:
  """Yields ('file:line', value) of an array, or of values without commas.

  Only the next part of the file is in memory.
  """
  lines = (line for _, line in files.read_lines(path))
  text, at, number = '', 0, 1
  mark = '[' if is_array else ''
  while True:
    start = _after_space(text, at)
    try:
      if mark and text[start : start + 1] != ']':
        if text[start : start + 1] != mark:
          raise json.JSONDecodeError(', or ] must follow', text, start)
        start = _after_space(text, start + 1)
      if mark and text[start : start + 1] == ']':
        break
      value, end = json_text.take(text, start)
    except ValueError as error:
      place = getattr(error, 'pos', start)
      # Lines are read whole, so a value that goes on is cut at the text's end.
      # Doubling bounds how often a long value is parsed again.
      is_cut = not text[place:].strip()
      more = _take(lines, max(_CHUNK, len(text) - at)) if is_cut else ''
      if more:
        text, at = text[at:] + more, 0
        continue
      if not is_array and start == len(text):
        return
      number += text.count('\n', at, place)
      problem = getattr(error, 'msg', str(error).partition(';')[0])
      raise errors.UserError(
        f'{path}:{number} must be JSON; {problem}. Correct it, or copy it '
        'again if it is cut off.'
      ) from error
    number += text.count('\n', at, start)
    yield f'{path}:{number}', value
    number += text.count('\n', start, end)
    at, mark = end, ',' if is_array else ''
  number += text.count('\n', at, start)
  if text[start + 1 :].strip() or any(map(str.strip, lines)):
    raise errors.UserError(
      f'{path}:{number} must be the end of the array and of the file. Found '
      'more. The file is damaged: copy it again.'
    )


def _after_space(text: str, at: int) -> int:
  return cast(re.Match, _SPACE.match(text, at)).end()


def _take(lines: Iterator[str], number: int) -> str:
  """Returns the next lines, of `number` characters or more."""
  parts = []
  while number > 0 and (line := next(lines, '')):
    parts.append(line)
    number -= len(line)
  return ''.join(parts)
