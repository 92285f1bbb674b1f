"""Writes articles and pre-training sentences about entities.

An article states every fact in two paragraphs, with different wordings and
orders. Blocks have two to four sentences, so an entity has several blocks. Two
of them hold a given fact: the entity's name is not enough to find them.
"""

from collections.abc import Iterable, Iterator
import random

from realm_tf.corpus import sources
from realm_tf.corpus import tagged_sentences
from realm_tf.world import gazetteer
from realm_tf.world import templates

_LONG_MENTION_RATE = 0.15  # Share of 'the city of Lyon' for 'Lyon'.
_ALIAS_RATE = 0.4  # Share of 'the UK' for 'the United Kingdom'.
# The last facts of one paragraph do not begin the next: no block states a fact
# twice.
_SEPARATION = 3
_MAX_LISTED = 5  # Values of a fact in X, at most.


def write_article(
  entity: gazetteer.Entity,
  paragraphs: Iterable[Iterable[tagged_sentences.TaggedSentence]],
) -> sources.Article:
  """Returns the article of the paragraphs of `write_paragraphs`."""
  text = '\n\n'.join(
    ' '.join(statement.text for statement in paragraph)
    for paragraph in paragraphs
  )
  return sources.Article(entity.name, text, entity.article_id)


def write_paragraphs(
  entity: gazetteer.Entity, seed: int
) -> list[list[tagged_sentences.TaggedSentence]]:
  """Returns the statements of the article's two paragraphs, with spans.

  No random choice depends on a value: a new value changes only its statements.
  """
  rng = random.Random(f'{seed}/article/{entity.article_id}')
  first = rng.sample(entity.facts, len(entity.facts))
  second = rng.sample(entity.facts, len(entity.facts))
  recent = {fact.relation for fact in first[-_SEPARATION:]}
  second.sort(key=lambda fact: fact.relation in recent)  # The sort is stable.
  wordings = {
    fact.relation: rng.sample(templates.wordings(entity, fact).statements, 2)
    for fact in entity.facts
  }
  return [
    [_state(fact, entity, wordings[fact.relation][i], rng) for fact in facts]
    for i, facts in enumerate((first, second))
  ]


def write_sentences(
  entity: gazetteer.Entity, seed: int
) -> Iterator[tagged_sentences.TaggedSentence]:
  """Yields one or two sentences of X per fact."""
  for fact in entity.facts:
    rng = random.Random(f'{seed}/X/{entity.article_id}/{fact.relation}')
    wordings = templates.wordings(entity, fact).sentences
    for wording in rng.sample(wordings, rng.choice((1, 2))):
      values = fact.values
      if len(values) > _MAX_LISTED:
        values = sorted(rng.sample(values, _MAX_LISTED))
      filled = templates.fill(wording, _short_name(entity, rng), values)
      yield tagged_sentences.TaggedSentence(
        filled.text, filled.spans, entity.article_id
      )


def _state(
  fact: gazetteer.Fact,
  entity: gazetteer.Entity,
  wording: str,
  rng: random.Random,
) -> tagged_sentences.TaggedSentence:
  is_long = rng.random() < _LONG_MENTION_RATE
  name = _short_name(entity, rng)
  if is_long and entity.kind == 'city':
    name = f'the city of {name}'
  filled = templates.fill(wording, name, fact.values)
  spans = sorted(filled.spans + filled.name_spans)
  return tagged_sentences.TaggedSentence(
    filled.text, tuple(spans), entity.article_id
  )


def _short_name(entity: gazetteer.Entity, rng: random.Random) -> str:
  if entity.aliases and rng.random() < _ALIAS_RATE:
    return rng.choice(entity.aliases)
  return entity.name
