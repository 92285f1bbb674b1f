"""Named entities as labels of words (IOB), and how predictions are scored.

labels <-> entities; entities of gold and prediction -> F1, as conlleval's
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
  """In percent, over whole entities: edges and type must be right."""

  precision: float
  recall: float
  f1: float


def decode(labels: Sequence[str]) -> list[Entity]:
  """Returns the entities that IOB1 or IOB2 labels stand for, in order.

  An entity begins at B-X, and at I-X unless the label before is of X too; so
  labels of either kind are read, as conlleval reads them.

  Args:
    labels: 'O', 'B-X' or 'I-X' of each word.
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
  """Returns the IOB2 labels of entities: not empty, not overlapping."""
  labels = [OUTSIDE] * num_words
  for start, end, kind in entities:
    labels[start:end] = [f'B-{kind}'] + [f'I-{kind}'] * (end - start - 1)
  return labels


def score(
  gold: Iterable[Sequence[Entity]], predicted: Iterable[Sequence[Entity]]
) -> Scores:
  """Scores the entities of all sentences together."""
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
