"""Entities <-> labels of the wordpieces that begin a word."""

from collections.abc import Sequence

import numpy as np

from realm_tf.corpus import conll
from realm_tf.text import wordpiece

NO_LABEL = -1


def label_names(sentences: Sequence[conll.LabeledSentence]) -> list[str]:
  """Returns the IOB2 labels of all entity types, 'O' first."""
  kinds = sorted({e.type for s in sentences for e in s.entities})
  pairs = ([f'B-{kind}', f'I-{kind}'] for kind in kinds)
  return [conll.OUTSIDE, *(label for pair in pairs for label in pair)]


def encode(
  sentence: conll.LabeledSentence,
  tokens: wordpiece.Tokens,
  tokenizer: wordpiece.WordpieceTokenizer,
  names: Sequence[str],
) -> np.ndarray:
  """Returns the label id of each of the L wordpieces of a text, int [L].

  Pieces that do not begin a word have NO_LABEL. `names` are `label_names`.
  """
  numbers = {name: i for i, name in enumerate(names)}
  pieces = (
    conll.Entity._make((*np.searchsorted(tokens.starts, e[:2]), e.type))
    for e in sentence.in_characters()
  )
  labels = conll.encode(len(tokens.ids), (p for p in pieces if p.start < p.end))
  ids = np.array([numbers[label] for label in labels], np.int32)
  return np.where(tokenizer.word_starts(tokens), ids, NO_LABEL)


def decode(
  tokens: wordpiece.Tokens, is_start: np.ndarray, labels: Sequence[str]
) -> list[conll.Entity]:
  """Returns the entities in characters.

  Args:
    is_start: Whether each of the L pieces begins a word, bool [L].
    labels: One label a word.
  """
  first = np.flatnonzero(is_start)
  stops = np.append(first[1:], len(tokens.ids))
  return [
    conll.Entity(
      int(tokens.starts[first[start]]),
      int(tokens.ends[stops[end - 1] - 1]),
      kind,
    )
    for start, end, kind in conll.decode(labels)
  ]
