"""Writes questions of two hops, about a fact of an entity that is not named.

  fact "country of Fuzhou: China", fact "currency of China: Yuan"
      -> "What is the currency of the country of Fuzhou?"

The article of the named entity has no answer; it links to the article with one.
"""

from collections.abc import Iterator, Mapping
import random
from typing import NamedTuple

from realm_tf.corpus import questions
from realm_tf.world import asking
from realm_tf.world import forms
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import templates

PREFIX = 'two_hop_'


class _Hops(NamedTuple):
  """A fact of the named entity, the entity in its value, and its fact."""

  first: gazetteer.Fact
  entity: gazetteer.Entity
  second: gazetteer.Fact


def ask_splits(world: generation.World) -> dict[str, list[questions.Question]]:
  """Returns the questions of PREFIX plus 'train', 'dev' and 'test'.

  Both entities of a question are in its split (`asking.split_entities`), so no
  training question is about an entity of the test. The splits have the same
  maximum sizes as questions of one hop.
  """
  config = world.config
  places = gazetteer.load_places(config)
  countries = {f'city/{c.geonameid}': c.countrycode for c in places.listed}
  texts = {article.article_id: article.text for article in world.articles}
  splits = asking.split_entities(world.entities, config.seed)
  result = {}
  for split, limit in asking.limits(config).items():
    named = {entity.name: entity for entity in splits[split]}
    picked = asking.sample(
      {e: list(_hops(e, named, countries, texts)) for e in splits[split]},
      lambda _, hops: (hops.first.relation, hops.second.relation),
      limit,
      f'{config.seed}/{PREFIX}{split}',
    )
    result[PREFIX + split] = [
      _ask(entity, hops, texts, config.seed) for entity, hops in picked
    ]
  return result


def _hops(
  entity: gazetteer.Entity,
  named: Mapping[str, gazetteer.Entity],
  countries: Mapping[str, str],
  texts: Mapping[str, str],
) -> Iterator[_Hops]:
  """Yields all pairs of facts that fit in a question."""
  for first in entity.facts:
    other = named.get(first.values[0])
    if not templates.wordings(entity, first).bridges or other is None:
      continue
    # A capital without an article may share its name with a listed city.
    if entity.kind == 'country' and entity.article_id != (
      f'country/{countries.get(other.article_id)}'
    ):
      continue
    for second in other.facts:
      values = asking.answers(second, texts[other.article_id])
      is_known = any(value in texts[entity.article_id] for value in values)
      if asking.is_asked(other, second) and not is_known:
        yield _Hops(first, other, second)


def _ask(
  entity: gazetteer.Entity, hops: _Hops, texts: Mapping[str, str], seed: int
) -> questions.Question:
  """Returns the question, with id ARTICLE_ID/RELATION/RELATION."""
  relations = f'{hops.first.relation}/{hops.second.relation}'
  question_id = f'{entity.article_id}/{relations}'
  rng = random.Random(f'{seed}/{PREFIX}question/{question_id}')
  wording = rng.choice(
    forms.plain_forms(templates.wordings(hops.entity, hops.second))
  )
  bridge = rng.choice(templates.wordings(entity, hops.first).bridges)
  return questions.Question(
    templates.fill(wording.replace('{e}', bridge), entity.name).text,
    asking.answers(hops.second, texts[hops.entity.article_id]),
    question_id=question_id,
    gold_id=hops.entity.article_id,
  )
