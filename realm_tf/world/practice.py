"""Invents countries that only training reads.

The world has few countries, so a model could learn the facts of training
questions by heart, and the names. An invented country has the name and the
aliases of small towns, and each fact of another country. Its answers can only
be read, as must the answers about a country without training questions.
"""

from collections.abc import Iterator, Sequence
import random

from realm_tf import errors
from realm_tf.corpus import questions
from realm_tf.corpus import sources
from realm_tf.world import asking
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import writing

_ALIAS_RATE = 0.5  # Share of the countries with an alias.
# The names of few capitals are repeated without end; any city's name will do.
_CITY_RATE = 0.7
_CITY_RELATIONS = frozenset(
  ('capital', 'largest_city', 'second_city', 'northernmost', 'southernmost')
)


def practise(
  world: generation.World,
) -> tuple[list[sources.Article], list[questions.Question]]:
  """Returns the articles of the invented countries, and training questions.

  Each second training question about a country asks an invented one for the
  same relation.
  """
  config = world.config
  countries = [
    generation.with_some_facts(country, config) for country in invent(world)
  ]
  articles = [
    writing.write_article(c, writing.write_paragraphs(c, config.seed))
    for c in countries
  ]
  invented = _questions(countries, articles, config.seed)
  asked, is_next = [], False
  for question in world.questions['train']:
    article_id, relation = question.question_id.rsplit('/', 1)
    if article_id.startswith('country/'):
      is_next = not is_next
      if is_next and invented.get(relation):
        question = invented[relation].pop()
    asked.append(question)
  return articles, asked


def _questions(
  countries: Sequence[gazetteer.Entity],
  articles: Sequence[sources.Article],
  seed: int,
) -> dict[str, list[questions.Question]]:
  """Returns the questions by relation, each in random order."""
  texts = {article.article_id: article.text for article in articles}
  result: dict[str, list[questions.Question]] = {}
  for (country, time), facts in asking.askers(countries, 'train'):
    for fact in facts:
      question = asking.ask(
        country, fact, texts[country.article_id], seed, time
      )
      result.setdefault(fact.relation, []).append(question)
  for relation, group in result.items():
    random.Random(f'{seed}/practice/{relation}').shuffle(group)
  return result


def invent(world: generation.World) -> Iterator[gazetteer.Entity]:
  """Yields countries with all the relations of a country of the world.

  Raises:
    UserError: There are too few names.
  """
  rng = random.Random(f'{world.config.seed}/practice')
  train = asking.split_entities(world.known, world.config.seed)['train']
  models = [entity for entity in train if entity.kind == 'country']
  cities = [entity.name for entity in train if entity.kind == 'city']
  names = _names(world)
  number, most = world.config.num_invented, len(names) // 2
  if not 0 <= number <= most:
    raise errors.UserError(
      f'world.num_invented must be from 0 to {most}: the countries have the '
      f'names of towns. Found {number}. Set another number.'
    )
  for i in range(number):
    facts, taken = [], set()
    for fact in rng.choice(models).facts:
      values = _values(fact.relation, models, cities, rng)
      while fact.relation in _CITY_RELATIONS and values in taken:
        values = _values(fact.relation, models, cities, rng)
      taken.add(values)
      facts.append(fact._replace(values=values))
    aliases = (names.pop(),) if rng.random() < _ALIAS_RATE else ()
    yield gazetteer.Entity(
      f'country/{i}', names.pop(), 'country', tuple(facts), aliases
    )


def _names(world: generation.World) -> list[str]:
  """Returns names that no article has; the first ones `foreign` asks for."""
  used = {
    gazetteer.fold(name) for e in world.known for name in (e.name, *e.aliases)
  }
  places = gazetteer.load_places(world.config)
  names = gazetteer.unlisted_names(places, world.config.seed)
  return [name for name in names if gazetteer.fold(name) not in used]


def _values(
  relation: str,
  models: Sequence[gazetteer.Entity],
  cities: Sequence[str],
  rng: random.Random,
) -> tuple[str, ...]:
  if relation in _CITY_RELATIONS and cities and rng.random() < _CITY_RATE:
    return (rng.choice(cities),)
  while not (values := rng.choice(models).values(relation)):
    pass
  return values
