"""The lines of a documents log: damaged, missing and moved lines are found.

  corpus                                    line 1
  kept: changes that were acknowledged      line 2, the only one that changes
  change, its number, checksum of the line before, own checksum ...

A crash can leave anything after the last acknowledged change: it is dropped.
Line 2 tells when the end was cut off, unless the whole file is empty.
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
  """The last change of a log: its number, 0 for none, and its checksum."""

  number: int
  checksum: str


class Log(NamedTuple):
  """Changes in JSON, oldest first; where the last one ends, and the last."""

  contents: list[dict[str, Any]]
  num_bytes: int
  chain: Chain


def first(corpus_fingerprint: str) -> tuple[bytes, Chain]:
  """Returns line 1, and what the first change refers to."""
  return _line({_CORPUS: corpus_fingerprint, 'format': _FORMAT}, 0)


def kept(number: int) -> bytes:
  """Returns line 2, which always has the same length."""
  return _line({'kept': f'{number:012}'}, 0)[0]


def chained(
  contents: Iterable[dict[str, Any]], chain: Chain
) -> tuple[list[bytes], Chain]:
  """Returns the lines of changes that follow `chain`, and the last change."""
  lines = []
  for number, content in enumerate(contents, chain.number + 1):
    linked = {'number': number, 'previous': chain.checksum, **content}
    line, chain = _line(linked, number)
    lines.append(line)
  return lines, chain


def read(path: str, data: bytes, corpus_fingerprint: str) -> Log:
  """Returns the changes of a log, less what no server acknowledged.

  Raises:
    UserError: It is of another corpus, is damaged, or lacks changes.
  """
  *lines, tail = data.split(b'\n')  # The tail has no end.
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
      'Dropped %d bytes after line %d of %s, which are no whole change.',
      *(len(data) - num_bytes, end, path),
    )
  return Log(contents, num_bytes, chain)


def _header(
  path: str, lines: Sequence[bytes], corpus_fingerprint: str
) -> dict[str, Any]:
  header = _parse(lines[0]) if lines else None
  if header is None or header.get('format') != _FORMAT or _CORPUS not in header:
    raise errors.UserError(
      f'{path} must be a documents log. Line 1 is not what this server writes. '
      'Name another file.'
    )
  if header[_CORPUS] != corpus_fingerprint:
    raise errors.UserError(
      f'{path} must hold changes of the corpus that is served, '
      f'{corpus_fingerprint[:12]}. Found those of {str(header[_CORPUS])[:12]}. '
      'Name another file, or remove it.'
    )
  return header


def _num_kept(path: str, lines: Sequence[bytes]) -> Optional[int]:
  line = _parse(lines[1]) if len(lines) > 1 else None
  if line is not None and 'kept' in line:
    return int(line['kept'])
  logging.warning(
    'Line 2 of %s is damaged: nothing tells whether the end is missing.', path
  )
  return None


def _follow(
  path: str, lines: Sequence[bytes], chain: Chain
) -> tuple[list[dict[str, Any]], Chain]:
  """Returns the contents up to the first damaged line, and the last change."""
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
        f'Found change {found[0]}: lines are missing, twice or in another '
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
  """Raises UserError unless a crash explains what follows change `number`.

  Args:
    num_kept: Changes that were acknowledged; None if nothing tells.
    is_torn: Whether bytes follow.
    goes_on: Whether whole lines are among them.
  """
  line = _HEADER_LINES + number + 1
  if is_torn and not goes_on and num_kept == number + 1:
    logging.warning(
      'Line %d of %s is damaged: the last change, which was acknowledged, is '
      'lost.',
      *(line, path),
    )
  elif goes_on or (is_torn and num_kept is not None):
    raise errors.UserError(
      f'{path} must be as it was written. Line {line} is damaged. {_ADVICE}'
    )
  elif num_kept is not None:
    raise errors.UserError(
      f'{path} must hold {num_kept} changes. Found {number}: the end is '
      f'missing. {_ADVICE}'
    )


def _line(content: dict[str, Any], number: int) -> tuple[bytes, Chain]:
  checksum = _checksum(content)
  text = json.dumps({**content, _CHECKSUM: checksum})
  return text.encode('utf-8') + b'\n', Chain(number, checksum)


def _parse(line: bytes) -> Optional[dict[str, Any]]:
  """Returns a line's content and checksum; None if `_line` did not write it."""
  try:
    content = json_text.parse_object(line, '')
  except errors.UserError:
    return None
  rest = {name: content[name] for name in content if name != _CHECKSUM}
  return content if _line(rest, 0)[0] == line + b'\n' else None


def _checksum(content: dict[str, Any]) -> str:
  text = json.dumps(content, sort_keys=True)
  return hashlib.sha256(text.encode('utf-8')).hexdigest()[:16]
