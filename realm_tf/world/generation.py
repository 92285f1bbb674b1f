"""Generates the demonstration's corpus: a world of facts about places.

  GeoNames' tables -> facts -> articles (Z), sentences (X), questions

The world is a function of `WorldConfig` and takes a few seconds.
"""

from collections.abc import Iterable, Mapping
import json
import os
import random
from typing import Any, NamedTuple

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.corpus import tagged_sentences
from realm_tf.world import asking
from realm_tf.world import city_facts
from realm_tf.world import gazetteer
from realm_tf.world import writing


class World(NamedTuple):
  """A generated world.

  Attributes:
    entities: Subjects of the articles with their facts, countries first.
    known: The same subjects with all facts that the tables know.
    articles: Knowledge corpus Z, in the order of `entities`.
    statements: Sentences of the articles with their spans, in order.
    sentences: Pre-training corpus X, about all entities.
    questions: Questions of 'train', 'dev' and 'test', which share no entity.
  """

  config: config_lib.WorldConfig
  entities: list[gazetteer.Entity]
  known: list[gazetteer.Entity]
  articles: list[sources.Article]
  statements: list[tagged_sentences.TaggedSentence]
  sentences: list[tagged_sentences.TaggedSentence]
  questions: dict[str, list[questions_lib.Question]]


class ChangedFact(NamedTuple):
  """Articles of a world in which one fact has another value."""

  articles: list[sources.Article]
  old_answer: str
  new_answers: tuple[str, ...]  # The new value, and its equal variants.


def generate(config: config_lib.WorldConfig) -> World:
  """Returns the world of a config; equal configs give equal worlds."""
  places = gazetteer.load_places(config)
  known = [
    *places.countries.values(),
    *city_facts.city_entities(places, config.seed),
  ]
  entities = [with_some_facts(entity, config) for entity in known]
  articles, statements, sentences = [], [], []
  for entity in entities:
    paragraphs = writing.write_paragraphs(entity, config.seed)
    articles.append(writing.write_article(entity, paragraphs))
    statements += [each for paragraph in paragraphs for each in paragraph]
    sentences += writing.write_sentences(entity, config.seed)
  questions = asking.ask_splits(entities, articles, config)
  return World(
    config, entities, known, articles, statements, sentences, questions
  )


def with_some_facts(
  entity: gazetteer.Entity, config: config_lib.WorldConfig
) -> gazetteer.Entity:
  """Returns the entity with the common facts and a sample of the others."""
  rng = random.Random(f'{config.seed}/facts/{entity.article_id}')
  others = [
    f.relation for f in entity.facts if f.relation not in gazetteer.COMMON
  ]
  number = min(config.num_sampled_facts, len(others))
  stated = gazetteer.COMMON.union(rng.sample(others, number))
  return entity._replace(
    facts=tuple(fact for fact in entity.facts if fact.relation in stated)
  )


def change_asked_fact(world: World, question_id: str) -> ChangedFact:
  """Replaces the value of a question's fact by another entity's value.

  `question_id` is 'ARTICLE_ID/RELATION'.
  """
  article_id, relation = question_id.rsplit('/', 1)
  row = [entity.article_id for entity in world.entities].index(article_id)
  asked = world.entities[row]
  old = asked.values(relation)
  new = next(
    values[0]
    for entity in world.entities[row + 1 :] + world.entities[:row]
    if (values := entity.values(relation))
    and not {*values} & {*old, asked.name}
  )
  changed = asked._replace(
    facts=tuple(
      fact._replace(values=(new,)) if fact.relation == relation else fact
      for fact in asked.facts
    )
  )
  articles = list(world.articles)
  paragraphs = writing.write_paragraphs(changed, world.config.seed)
  articles[row] = article = writing.write_article(changed, paragraphs)
  (fact,) = (fact for fact in changed.facts if fact.relation == relation)
  return ChangedFact(articles, old[0], asking.answers(fact, article.text))


def write_articles(articles: Iterable[sources.Article], path: str) -> None:
  """Writes articles as the JSONL that `sources` reads."""
  _write_rows(
    ({'title': a.title, 'text': a.text, 'id': a.article_id} for a in articles),
    path,
  )


def write_sentences(
  sentences: Iterable[tagged_sentences.TaggedSentence], path: str
) -> None:
  """Writes sentences as the JSONL that `tagged_sentences` reads."""
  _write_rows(
    ({'text': s.text, 'spans': s.spans, 'id': s.article_id} for s in sentences),
    path,
  )


def write_train_texts(
  splits: Mapping[str, Iterable[questions_lib.Question]], path: str
) -> None:
  """Writes the texts of training questions, to learn a vocabulary from."""
  _write_rows(
    (
      {'text': question.question}
      for split, questions in splits.items()
      if split.endswith('train')
      for question in questions
    ),
    path,
  )


def write_questions(
  questions: Iterable[questions_lib.Question], path: str
) -> None:
  """Writes questions as the JSONL that `questions` reads.

  A question without an answer is_impossible, as in SQuAD 2.0.
  """
  _write_rows(
    (
      {
        'question': question.question,
        'answers': question.answers,
        **({} if question.answers else {'is_impossible': True}),
        'id': question.question_id,
        'gold_id': question.gold_id,
        **({'regex': True} if question.regex else {}),
      }
      for question in questions
    ),
    path,
  )


def _write_rows(rows: Iterable[Mapping[str, Any]], path: str) -> None:
  tf.io.gfile.makedirs(os.path.dirname(path))
  with tf.io.gfile.GFile(path, 'w') as file:
    for row in rows:
      file.write(json.dumps(row, ensure_ascii=False) + '\n')
