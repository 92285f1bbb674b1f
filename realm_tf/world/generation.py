"""Generates the demonstration's corpus: a world of facts about places.

  GeoNames' tables -> facts -> articles (Z), sentences (X), questions

The world is a function of `WorldConfig` and takes a few seconds.
"""

import random
from typing import NamedTuple

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
