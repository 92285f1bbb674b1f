"""Writes SentencePiece models of a few pieces, byte by byte."""

from collections.abc import Sequence
import struct

_CONTROL, _NORMAL, _UNKNOWN = 3, 1, 2
_SPACE = '\u2581'  # Comes before a word.
# Ids 0 to 2, as in T5; words have ids from 3.
_SPECIALS = (('<pad>', _CONTROL), ('</s>', _CONTROL), ('<unk>', _UNKNOWN))
# TrainerSpec: unigram; ids of <unk>, <s> (none), </s> and <pad>.
_NUMBERS = ((3, 1), (40, 2), (41, -1), (42, 1), (43, 0))


def model(words: Sequence[str]) -> bytes:
  """Returns a model with one piece for each word."""
  pieces = [*_SPECIALS, *((_SPACE + word, _NORMAL) for word in words)]
  trainer = b''.join(_varint(field << 3) + _varint(n) for field, n in _NUMBERS)
  return (
    b''.join(_bytes(1, _piece(*piece)) for piece in pieces)
    + _bytes(2, trainer)
    + _bytes(3, _bytes(1, b'identity'))
  )


def _piece(text, kind):
  score = _varint(2 << 3 | 5) + struct.pack('<f', -1.0)
  return _bytes(1, text.encode()) + score + _varint(3 << 3) + _varint(kind)


def _bytes(field, value):
  return _varint(field << 3 | 2) + _varint(len(value)) + value


def _varint(number):
  number &= (1 << 64) - 1
  result = bytearray()
  while number > 127:
    result.append(number & 127 | 128)
    number >>= 7
  return bytes([*result, number])
