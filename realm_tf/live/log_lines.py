"""The lines of a documents log, which reveal damaged, missing and moved lines.

  line 1   the corpus
  line 2   number of acknowledged changes; the only line that changes
  line 3.. a change, its number, the previous line's checksum, its own checksum

Any bytes after the last acknowledged change come from a crash and are dropped.
Line 2 reveals a missing end, unless the whole file is empty.
"""

from collections.abc import Iterable, Sequence
import hashlib
import json
from typing import Any, NamedTuple, Optional

from absl import logging

from realm_tf import errors
from realm_tf import json_text

_CHECKSUM = 'sha256'
_CORPUS = 'corpus_fingerprint'
_FORMAT = 2
_HEADER_LINES = 2
_ADVICE = 'Restore the file, or remove it to serve the corpus alone.'


class Chain(NamedTuple):
  """Number and checksum of a log's last change; number 0: no change yet."""

  number: int
  checksum: str


class Log(NamedTuple):
  """Changes in JSON, oldest first; bytes up to their end; the last change."""

  contents: list[dict[str, Any]]
  num_bytes: int
  chain: Chain


def first(corpus_fingerprint: str) -> tuple[bytes, Chain]:
  """Returns line 1, and the chain that the first change follows."""
  return _line({_CORPUS: corpus_fingerprint, 'format': _FORMAT}, 0)


def kept(number: int) -> bytes:
  """Returns line 2; its length is always the same."""
  return _line({'kept': f'{number:012}'}, 0)[0]


def chained(
  contents: Iterable[dict[str, Any]], chain: Chain
) -> tuple[list[bytes], Chain]:
  """Returns the lines of changes that follow `chain`, and the new chain."""
  lines = []
  for number, content in enumerate(contents, chain.number + 1):
    linked = {'number': number, 'previous': chain.checksum, **content}
    line, chain = _line(linked, number)
    lines.append(line)
  return lines, chain


def read(path: str, data: bytes, corpus_fingerprint: str) -> Log:
  """Returns the changes of a log, without a half-written end.

  Raises UserError if the log is damaged or belongs to another corpus.
  """
  *lines, tail = data.split(b'\n')  # The tail is a line without its end.
  origin = Chain(0, _header(path, lines, corpus_fingerprint)[_CHECKSUM])
  num_kept = _num_kept(path, lines)
  contents, chain = _follow(path, lines, origin)
  end = _HEADER_LINES + len(contents)
  is_torn = bool(lines[end:] or tail)
  if num_kept is None or len(contents) < num_kept:
    goes_on = any(map(_parse, lines[end:]))
    _check_end(path, chain.number, num_kept, is_torn=is_torn, goes_on=goes_on)
  num_bytes = sum(map(len, lines[:end])) + end
  if num_bytes < len(data):
    logging.warning(
      'Dropped %d bytes after line %d of %s: they are not a whole change.',
      *(len(data) - num_bytes, end, path),
    )
  return Log(contents, num_bytes, chain)


def _header(
  path: str, lines: Sequence[bytes], corpus_fingerprint: str
) -> dict[str, Any]:
  header = _parse(lines[0]) if lines else None
  if header is None or header.get('format') != _FORMAT or _CORPUS not in header:
    raise errors.UserError(
      f'{path} must be a documents log. Found another first line. Name another '
      'file.'
    )
  if header[_CORPUS] != corpus_fingerprint:
    raise errors.UserError(
      f'{path} must contain changes to corpus {corpus_fingerprint[:12]}. Found '
      f'corpus {str(header[_CORPUS])[:12]}. Name another file, or remove it.'
    )
  return header


def _num_kept(path: str, lines: Sequence[bytes]) -> Optional[int]:
  line = _parse(lines[1]) if len(lines) > 1 else None
  if line is not None and 'kept' in line:
    return int(line['kept'])
  logging.warning(
    'Line 2 of %s is damaged. The log may lack changes at its end.', path
  )
  return None


def _follow(
  path: str, lines: Sequence[bytes], chain: Chain
) -> tuple[list[dict[str, Any]], Chain]:
  """Returns the changes before the first damaged line, and their chain."""
  contents = []
  for place, line in enumerate(lines[_HEADER_LINES:], _HEADER_LINES + 1):
    content = _parse(line)
    if content is None:
      break
    number = chain.number + 1
    found = content.get('number'), content.get('previous')
    if found != (number, chain.checksum):
      raise errors.UserError(
        f'{path}:{place} must be change {number}, after change {number - 1}. '
        f'Found change {found[0]}: lines are missing, repeated or in another '
        f'order. {_ADVICE}'
      )
    chain = Chain(number, content[_CHECKSUM])
    contents.append(content)
  return contents, chain


def _check_end(
  path: str,
  number: int,
  num_kept: Optional[int],
  *,
  is_torn: bool,
  goes_on: bool,
) -> None:
  """Raises UserError unless a crash explains the end after change `number`.

  Args:
    num_kept: Number of acknowledged changes; None if line 2 is damaged.
    is_torn: Whether bytes follow change `number`.
    goes_on: Whether whole lines are among these bytes.
  """
  line = _HEADER_LINES + number + 1
  if is_torn and not goes_on and num_kept == number + 1:
    logging.warning(
      'Line %d of %s is damaged. The last acknowledged change is lost.',
      *(line, path),
    )
  elif goes_on or (is_torn and num_kept is not None):
    raise errors.UserError(
      f'{path} must have undamaged lines. Found damage in line {line}. '
      f'{_ADVICE}'
    )
  elif num_kept is not None:
    raise errors.UserError(
      f'{path} must contain {num_kept} changes. Found {number}: the end is '
      f'missing. {_ADVICE}'
    )


def _line(content: dict[str, Any], number: int) -> tuple[bytes, Chain]:
  ordered = json.dumps(content, sort_keys=True)
  checksum = hashlib.sha256(ordered.encode('utf-8')).hexdigest()[:16]
  text = json.dumps({**content, _CHECKSUM: checksum})
  return text.encode('utf-8') + b'\n', Chain(number, checksum)


def _parse(line: bytes) -> Optional[dict[str, Any]]:
  """Returns a line's content and checksum; None for a damaged line."""
  try:
    content = json_text.parse_object(line, '')
  except errors.UserError:
    return None
  rest = {name: content[name] for name in content if name != _CHECKSUM}
  return content if _line(rest, 0)[0] == line + b'\n' else None
