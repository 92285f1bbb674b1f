"""A BERT's vocabulary: what it must have, and its file, vocab.txt."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text

SPECIALS = ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]')
CONTINUATION = '##'
_MAX_SHOWN = 40  # Characters of a line, in an error.
_ADVICE = 'Use a BERT vocabulary (vocab.txt or tokenizer.json).'


def refusal(path: str, wanted: str, found: Any) -> errors.UserError:
  """Returns the error of a tokenizer's file that is not a BERT's."""
  return errors.UserError(
    f'{path} must have {wanted}. Found {found!r:.80}. Use the tokenizer '
    'of a BERT.'
  )


def read(path: str) -> list[str]:
  """Returns the lines of vocab.txt, one piece each; they pass `check`."""
  try:
    text = json_text.decode(read_bytes(path)).removeprefix('\ufeff')
  except ValueError as error:
    raise errors.UserError(
      f'{path} must have one wordpiece per line. Found {error}. Save it as '
      'UTF-8.'
    ) from error
  pieces = [line.removesuffix('\r') for line in text.split('\n')]
  while pieces and not pieces[-1]:
    pieces.pop()
  check(pieces, path)
  return pieces


def read_bytes(path: str) -> bytes:
  """Returns the contents of a file of a vocabulary; UserError without it."""
  if not tf.io.gfile.exists(path) or tf.io.gfile.isdir(path):
    raise errors.UserError(
      f'The vocabulary must be a file with one wordpiece per line; {path} '
      'is not there. Give another --vocab_file.'
    )
  return input_files.read(path)


def check(pieces: Sequence[str], name: str) -> None:
  """Raises UserError unless `pieces` is a usable vocabulary."""
  problem = _problem(pieces)
  if problem:
    raise errors.UserError(f'{name} must {problem}. {_ADVICE}')


def _problem(pieces: Sequence[str]) -> str:
  if not pieces or pieces[0] != SPECIALS[0]:
    found = repr(pieces[0][:_MAX_SHOWN]) if pieces else 'nothing'
    return f"begin with '[PAD]', as padding has id 0; it begins with {found}"
  seen: set[str] = set()
  for line, piece in enumerate(pieces, 1):
    shown = repr(piece[:_MAX_SHOWN])
    if not piece or piece in seen:
      found = f'{shown} again' if piece else 'empty'
      return f'have a different piece on every line; line {line} is {found}'
    if '\n' in piece or '\r' in piece:
      return f'have pieces without line breaks; piece {line - 1} is {shown}'
    seen.add(piece)
  missing = [special for special in SPECIALS if special not in seen]
  if missing:
    return (
      f'have the pieces {", ".join(SPECIALS)}; it lacks {", ".join(missing)}'
    )
  return ''
