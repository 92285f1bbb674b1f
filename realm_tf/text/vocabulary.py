"""Reads, checks and learns a BERT's vocabulary, vocab.txt."""

import collections
from collections.abc import Iterable, Sequence
import re

from tensorflow_text.tools.wordpiece_vocab import (
  wordpiece_tokenizer_learner_lib as learner,
)

from realm_tf import errors
from realm_tf import input_files
from realm_tf import json_text
from realm_tf.text import character_table

SPECIALS = ('[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]')
CONTINUATION = '##'
# Thai, Lao, Burmese, Khmer and Japanese have no spaces between words; Korean
# joins particles to names.
_UNSPACED = re.compile(
  '[\u0e00-\u0eff\u1000-\u11ff\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af]'
)
_MAX_LEARNING_WORDS = 50_000  # Bounds the learner's time.
_MAX_SHOWN = 40  # Characters of a line in an error.


def is_inner(piece: str) -> bool:
  """Returns whether a word goes on with this piece, in scripts with spaces."""
  body = piece.removeprefix(CONTINUATION)
  return body != piece and not _UNSPACED.match(body)


def read(path: str) -> list[str]:
  """Returns the checked pieces of vocab.txt, one per line."""
  try:
    text = json_text.decode(input_files.read(path)).removeprefix('\ufeff')
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


def check(pieces: Sequence[str], name: str) -> None:
  """Raises UserError unless `pieces` is a usable vocabulary."""
  problem = _problem(pieces)
  if problem:
    raise errors.UserError(
      f'{name} must {problem}. Use a BERT vocabulary (vocab.txt or '
      'tokenizer.json).'
    )


def _problem(pieces: Sequence[str]) -> str:
  if not pieces or pieces[0] != SPECIALS[0]:
    found = repr(pieces[0][:_MAX_SHOWN]) if pieces else 'nothing'
    return f"begin with '[PAD]', as padding has id 0. Found {found}"
  seen: set[str] = set()
  for line, piece in enumerate(pieces, 1):
    shown = repr(piece[:_MAX_SHOWN])
    if not piece or piece in seen:
      found = f'{shown} again' if piece else 'empty'
      return f'have a different piece on every line. Found line {line}: {found}'
    if '\n' in piece or '\r' in piece:
      return f'have pieces without line breaks. Found piece {line - 1}: {shown}'
    seen.add(piece)
  missing = [special for special in SPECIALS if special not in seen]
  if missing:
    return (
      f'have the pieces {", ".join(SPECIALS)}. Found no {", ".join(missing)}'
    )
  return ''


def learn_vocabulary(texts: Iterable[str], size: int) -> list[str]:
  """Returns `size` or fewer pieces: special ones, characters, then by count."""
  counts = _count_words(texts)
  if not counts:
    raise errors.UserError(
      'The texts must have words to learn a vocabulary. Found none. Check '
      '--input, or give a --vocab_file.'
    )
  by_count = sorted(counts.values(), reverse=True)
  # The learner bisects the minimum count of a piece. From this upper bound, at
  # which words alone fill the vocabulary, it needs half the rounds.
  upper = by_count[min(size // 4, len(by_count) - 1)]
  learned = learner.learn(
    sorted(counts.items()),
    size,
    list(SPECIALS),
    upper_thresh=max(upper, 2),
    lower_thresh=2,
    max_input_tokens=_MAX_LEARNING_WORDS,
    # A character takes two pieces; foreign scripts must leave room for words.
    max_unique_chars=max(100, min(1000, size // 20)),
  )
  return learned[:size]


class _Spelling(dict):
  """Code -> spelling, for str.translate."""

  def __missing__(self, code: int) -> str:
    self[code] = character_table.UNCASED.spell(chr(code))
    return self[code]


def _count_words(texts: Iterable[str]) -> dict[str, int]:
  given: collections.Counter[str] = collections.Counter()
  for text in texts:
    given.update(text.replace('\n', ' ').split(' '))
  counts: collections.Counter[str] = collections.Counter()
  spelling = _Spelling()
  for word, number in given.items():
    # The tokenizer, too, replaces a lone surrogate by '?'.
    word = word.encode('utf-8', 'replace').decode('utf-8')
    for part in filter(None, word.translate(spelling).split(' ')):
      counts[part] += number
  return counts
