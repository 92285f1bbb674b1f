"""Writes questions about facts that the article of an entity leaves out.

Some of these facts are known, and would be in a larger sample; others, such as
the mayor of a city, are in no article. The corpus has no answer to them.
"""

from collections.abc import Iterator, Set
import functools
import random
import re
from typing import NamedTuple

from realm_tf.corpus import questions
from realm_tf.world import asking
from realm_tf.world import forms
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import templates

PREFIX = 'missing_'
# Relations of the other kind of entity that make sense, but are in no article.
_CROSSED = {'city': ('area', 'density', 'phone_code'), 'country': ('latitude',)}
_OTHER_KIND = {'city': 'country', 'country': 'city'}
# Relations of outside.txt for an asker, out of about five; training has many.
_OUTSIDE = {'train': 6, 'dev': 2, 'test': 2}
_COUNTRY_ASKERS = 4  # Countries are few, but most asked about.
# Without a value, the entity may be the capital or the largest city itself.
_UNCLEAR = frozenset(('capital_distance', 'next_larger', 'second_city'))


class _Lack(NamedTuple):
  """A fact to ask for; `group` is equally frequent among all facts."""

  relation: str
  wordings: templates.Wordings
  group: tuple[str, str]


def ask_splits(world: generation.World) -> dict[str, list[questions.Question]]:
  """Returns the questions of PREFIX plus 'train', 'dev' and 'test'.

  All have forms of training, so that only the fact tells them from questions
  with an answer. A question without answers is impossible.
  """
  config = world.config
  splits = asking.split_entities(world.entities, config.seed)
  find = functools.partial(_lacks, world, _mentions(world))
  rows = {e.article_id: i for i, e in enumerate(world.entities)}
  result = {}
  for split, limit in asking.limits(config, 'impossible').items():
    seed = f'{config.seed}/{PREFIX}{split}'
    choices = {}
    for entity in splits[split]:
      name = entity.article_id
      rng = random.Random(f'{seed}/{name}')
      lacks = list(find(rows[name], split, rng))
      number = _COUNTRY_ASKERS if entity.kind == 'country' else 1
      for i in range(number):
        choices[entity, i] = lacks[i::number]
    picked = asking.sample(choices, lambda _, lack: lack.group, limit, seed)
    result[PREFIX + split] = [
      _ask(entity, lack, config.seed) for (entity, _), lack in picked
    ]
  return result


def _ask(
  entity: gazetteer.Entity, lack: _Lack, seed: int
) -> questions.Question:
  question_id = f'{entity.article_id}/{lack.relation}'
  rng = random.Random(f'{seed}/{PREFIX}{question_id}')
  text = forms.write(forms.choose(lack.wordings, 'train', rng), entity, rng)
  return questions.Question(
    text, (), question_id=question_id, gold_id=entity.article_id
  )


def _mentions(world: generation.World) -> Set[tuple[str, str]]:
  """Returns pairs of an article's entity and a value in a statement there."""
  return {
    (entity.name, value)
    for entity in world.entities
    for fact in entity.facts
    for value in fact.values
  }


def _lacks(
  world: generation.World,
  mentions: Set[tuple[str, str]],
  row: int,
  split: str,
  rng: random.Random,
) -> Iterator[_Lack]:
  """Yields the facts about an entity that no article states."""
  entity, known = world.entities[row], world.known[row]
  stated = {fact.relation for fact in entity.facts}
  for (kind, relation), wordings in templates.all_wordings().items():
    values = known.values(relation)
    if kind != entity.kind or relation in stated or not wordings.nouns:
      continue
    if not values and relation in _UNCLEAR:
      continue
    if relation == 'other_name' and entity.aliases:
      continue
    text = world.articles[row].text
    if not any(
      _has_word(text, value) or (value, entity.name) in mentions
      for value in values
    ):
      yield _Lack(relation, wordings, (kind, relation))
  for relation in _CROSSED[entity.kind]:
    wordings = templates.all_wordings()[_OTHER_KIND[entity.kind], relation]
    yield _Lack(relation, wordings, (entity.kind, relation))
  outside = [
    (relation, wordings)
    for (of, kinds, relation), wordings in outside_relations().items()
    if of == split and entity.kind in kinds.split('|')
  ]
  for i, (relation, wordings) in enumerate(
    rng.sample(outside, _OUTSIDE[split])
  ):
    yield _Lack(relation, wordings, (entity.kind, f'outside {i}'))


@functools.cache
def outside_relations() -> dict[tuple[str, str, str], templates.Wordings]:
  """Returns relations of no article, by (split, kinds, relation)."""
  return {
    (of, kinds, relation): wordings
    for (of, kinds, *rest), wordings in outside().items()
    for relation in rest
    if kinds != 'subject'
  }


@functools.cache
def outside() -> dict[tuple[str, ...], templates.Wordings]:
  """Returns the sections of outside.txt."""
  return templates.read_sections('outside.txt')


def _has_word(text: str, value: str) -> bool:
  return bool(re.search(rf'(?<!\w){re.escape(value)}(?!\w)', text))
