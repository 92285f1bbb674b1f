"""Writes articles and pre-training sentences about entities.

An article states every fact twice, in two wordings and in two paragraphs, each
in an order of its own. Cut into blocks of two to four sentences, it gives
several blocks per entity, and every fact stands in two of them that differ in
their other facts: naming the entity is not enough to retrieve the right one.
"""

from collections.abc import Iterator
import random
from typing import NamedTuple

from realm_tf.corpus import sources
from realm_tf.world import gazetteer
from realm_tf.world import templates

WORDINGS = templates.read_wordings()
_LONG_MENTION_RATE = 0.15  # Of 'the city of Lyon' for 'Lyon'.
# Facts that end one paragraph are kept this far from the start of the next, so
# that the two statements of a fact do not meet in one block.
_SEPARATION = 3
_MAX_LISTED = 5  # Longer lists of values are sampled in X.


class PretrainingSentence(NamedTuple):
  """A sentence of X, or of an article.

  Attributes:
    text: One statement, or a short question with its answer.
    spans: Character spans that may be masked: the fact's values and, in an
      article, the entity's name.
    article_id: Of the article that states the fact, for measuring retrieval.
  """

  text: str
  spans: tuple[tuple[int, int], ...]
  article_id: str = ''


def write_article(entity: gazetteer.Entity, seed: int) -> sources.Article:
  """Writes the article; a changed value changes only its own statements."""
  text = '\n\n'.join(
    ' '.join(statement.text for statement in paragraph)
    for paragraph in write_paragraphs(entity, seed)
  )
  return sources.Article(entity.name, text, entity.article_id)


def write_paragraphs(
  entity: gazetteer.Entity, seed: int
) -> list[list[PretrainingSentence]]:
  """Returns the statements of the article's two paragraphs, with spans."""
  # Every choice is made before a value is looked at.
  rng = random.Random(f'{seed}/article/{entity.article_id}')
  first = rng.sample(entity.facts, len(entity.facts))
  second = rng.sample(entity.facts, len(entity.facts))
  recent = {fact.relation for fact in first[-_SEPARATION:]}
  second.sort(key=lambda fact: fact.relation in recent)  # The sort is stable.
  wordings = {
    fact.relation: rng.sample(
      WORDINGS[entity.kind][fact.relation].statements, 2
    )
    for fact in entity.facts
  }
  return [
    [_state(fact, entity, wordings[fact.relation][i], rng) for fact in facts]
    for i, facts in enumerate((first, second))
  ]


def write_sentences(
  entity: gazetteer.Entity, seed: int
) -> Iterator[PretrainingSentence]:
  """Yields one or two sentences of X per fact."""
  for fact in entity.facts:
    rng = random.Random(f'{seed}/X/{entity.article_id}/{fact.relation}')
    wordings = WORDINGS[entity.kind][fact.relation].sentences
    for wording in rng.sample(wordings, rng.choice((1, 2))):
      values = fact.values
      if len(values) > _MAX_LISTED:
        values = sorted(rng.sample(values, _MAX_LISTED))
      filled = templates.fill(wording, entity.name, values)
      yield PretrainingSentence(filled.text, filled.spans, entity.article_id)


def _state(fact, entity, wording, rng):
  is_long = rng.random() < _LONG_MENTION_RATE
  name = entity.name
  if is_long and entity.kind == 'city':
    name = f'the city of {name}'
  filled = templates.fill(wording, name, fact.values)
  spans = sorted(filled.spans + filled.name_spans)
  return PretrainingSentence(filled.text, tuple(spans), entity.article_id)
