"""Learns an uncased vocabulary of wordpieces with TensorFlow Text's learner."""

import collections
from collections.abc import Iterable

from tensorflow_text.tools.wordpiece_vocab import (
  wordpiece_tokenizer_learner_lib as learner,
)

from realm_tf import errors
from realm_tf.text import character_rules
from realm_tf.text import vocabulary

_MAX_LEARNING_WORDS = 50_000  # Bounds the learner's time.


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
    list(vocabulary.SPECIALS),
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
    self[code] = character_rules.UNCASED.spell(chr(code))
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
