"""Lines of a documents log: what is missing, moved or damaged is found.

  corpus                                    line 1
  kept: changes that were acknowledged      line 2, the only one that changes
  change, its number, checksum of the line before, own checksum ...

A crash can leave anything behind the last acknowledged change: it is dropped.
An end that was cut off is found by line 2, unless the file is empty then.
"""

from collections.abc import Iterable
import hashlib
import json
from typing import Any, NamedTuple, Optional

from absl import logging

from realm_tf import errors
from realm_tf import json_text

_CHECKSUM = 'sha256'
_CORPUS = 'corpus_fingerprint'
_ADVICE = 'Restore the file, or remove it to serve the corpus alone.'


class Chain(NamedTuple):
  """The last change of a log: its number, 0 for none, and its checksum."""

  number: int
  checksum: str


class Log(NamedTuple):
  """What was read.

  Attributes:
    contents: JSON of each change, the oldest first.
    num_bytes: Bytes up to the end of the last change.
    chain: The last change.
    is_current: False for a log without numbers, of an older version.
  """

  contents: list[dict[str, Any]]
  num_bytes: int
  chain: Chain
  is_current: bool


def first(corpus_fingerprint: str) -> tuple[bytes, Chain]:
  """Returns line 1, and what the first change refers to."""
  return _line({_CORPUS: corpus_fingerprint, 'format': 2}, 0)


def kept(number: int) -> bytes:
  """Returns line 2, which always has the same length."""
  return _line({'kept': f'{number:012}'}, 0)[0]


def chained(
  contents: Iterable[dict[str, Any]], chain: Chain
) -> tuple[list[bytes], Chain]:
  """Returns the line of each change behind `chain`, and the last change."""
  lines = []
  for number, content in enumerate(contents, chain.number + 1):
    linked = {'number': number, 'previous': chain.checksum, **content}
    line, chain = _line(linked, number)
    lines.append(line)
  return lines, chain


def read(path: str, data: bytes, corpus_fingerprint: str) -> Log:
  """Returns the changes of a log; what no server acknowledged is left out.

  Args:
    path: Its file, for messages.

  Raises:
    UserError: It is of another corpus, is damaged, or lacks changes.
  """
  *lines, tail = data.split(b'\n')  # The tail has no end.
  header = _header(path, lines, corpus_fingerprint)
  is_current = 'format' in header
  num_kept = _num_kept(path, lines) if is_current else None
  begun = 2 if is_current else 1
  contents, chain = _follow(path, lines[begun:], begun, header, is_current)
  end = begun + len(contents)
  _check_end(path, lines[end:], tail, end, len(contents), num_kept)
  num_bytes = sum(map(len, lines[:end])) + end
  if num_bytes < len(data):
    logging.warning(
      'Dropped %d bytes behind line %d of %s, which are no whole change.',
      *(len(data) - num_bytes, end, path),
    )
  return Log(contents, num_bytes, chain, is_current)


def _header(path, lines, corpus_fingerprint):
  header = _parse(lines[0]) if lines else None
  if header is None or _CORPUS not in header:
    raise errors.UserError(
      f'{path} must be a documents log. Line 1 is not what a server writes. '
      'Name another file.'
    )
  if header[_CORPUS] != corpus_fingerprint:
    raise errors.UserError(
      f'{path} must hold changes of the corpus that is served, '
      f'{corpus_fingerprint[:12]}. Found those of {str(header[_CORPUS])[:12]}. '
      'Name another file, or remove it.'
    )
  return header


def _num_kept(path, lines) -> Optional[int]:
  line = _parse(lines[1]) if len(lines) > 1 else None
  if line is not None and 'kept' in line:
    return int(line['kept'])
  logging.warning(
    'Line 2 of %s is damaged: nothing tells whether the end is missing.', path
  )
  return None


def _follow(path, lines, begun, header, is_current):
  """Returns the contents up to the first damaged line, and the last's chain."""
  contents, chain = [], Chain(0, header[_CHECKSUM])
  for place, line in enumerate(lines, begun + 1):
    content = _parse(line)
    if content is None:
      break
    number = chain.number + 1
    if is_current and (
      content.get('number') != number
      or content.get('previous') != chain.checksum
    ):
      raise errors.UserError(
        f'{path}:{place} must be change {number}, behind change {number - 1}. '
        f'Found change {content.get("number")}: lines are missing, twice or '
        f'in another order. {_ADVICE}'
      )
    chain = Chain(number, content[_CHECKSUM])
    contents.append(content)
  return contents, chain


def _check_end(path, rest, tail, end, number, num_kept):
  """Raises UserError unless a crash explains what ends the changes."""
  if num_kept is not None and number >= num_kept:
    return
  goes_on, is_torn = any(map(_parse, rest)), bool(rest or tail)
  if is_torn and not goes_on and number + 1 == num_kept:
    logging.warning(
      'Line %d of %s is damaged: the last change, which was acknowledged, is '
      'lost.',
      *(end + 1, path),
    )
    return
  if goes_on or (is_torn and num_kept is not None):
    raise errors.UserError(
      f'{path} must be as it was written. Line {end + 1} is damaged. {_ADVICE}'
    )
  if num_kept is not None:
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
