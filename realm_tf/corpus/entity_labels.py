"""Converts entities to IOB labels of words and back, and scores predictions.

labels <-> entities; gold and predicted entities -> F1, like conlleval
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

OUTSIDE = 'O'


class Entity(NamedTuple):
  """Words [start, end) that name something of `type`."""

  start: int
  end: int
  type: str


class Scores(NamedTuple):
  """Scores in percent; an entity is right if its edges and type are."""

  precision: float
  recall: float
  f1: float


def decode(labels: Sequence[str]) -> list[Entity]:
  """Returns the entities of IOB1 or IOB2 labels, in order.

  Like conlleval, an entity begins at B-X, and at I-X unless the label before is
  also of type X.

  Args:
    labels: 'O', 'B-X' or 'I-X' for each word.
  """
  entities, start = [], 0
  for i, label in enumerate([*labels, OUTSIDE]):
    prefix, _, kind = label.partition('-')
    before = labels[i - 1].partition('-')[2] if i else ''
    if before and (prefix != 'I' or kind != before):
      entities.append(Entity(start, i, before))
    if kind and (prefix == 'B' or kind != before):
      start = i
  return entities


def encode(num_words: int, entities: Iterable[Entity]) -> list[str]:
  """Returns the IOB2 labels of entities, which must not overlap."""
  labels = [OUTSIDE] * num_words
  for start, end, kind in entities:
    labels[start:end] = [f'B-{kind}'] + [f'I-{kind}'] * (end - start - 1)
  return labels


def score(
  gold: Iterable[Sequence[Entity]], predicted: Iterable[Sequence[Entity]]
) -> Scores:
  """Returns the scores over the entities of all sentences."""
  num_gold = num_predicted = num_right = 0
  for want, got in zip(gold, predicted, strict=True):
    num_gold += len(want)
    num_predicted += len(got)
    num_right += len(set(want) & set(got))
  precision = 100.0 * num_right / max(num_predicted, 1)
  recall = 100.0 * num_right / max(num_gold, 1)
  total = precision + recall
  return Scores(
    precision, recall, 2 * precision * recall / total if total else 0.0
  )
