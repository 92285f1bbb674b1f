"""Writes questions about facts in the articles of entities.

The splits ask about different entities, so training questions teach how to look
up a fact, not the facts of the test.
"""

import collections
from collections.abc import Callable, Hashable, Mapping, Sequence
import random
from typing import TypeVar

from realm_tf import config as config_lib
from realm_tf.corpus import questions
from realm_tf.corpus import sources
from realm_tf.world import gazetteer
from realm_tf.world import templates

REWORDED = 'reworded_'
_Choice = TypeVar('_Choice')
_TEST_SHARE, _DEV_SHARE = 0.15, 0.08  # Shares of the entities of each kind.


def ask_splits(
  entities: Sequence[gazetteer.Entity],
  articles: Sequence[sources.Article],
  config: config_lib.WorldConfig,
) -> dict[str, list[questions.Question]]:
  """Returns the questions of 'train', 'dev' and 'test'."""
  texts = {article.article_id: article.text for article in articles}
  splits = split_entities(entities, config.seed)
  return {
    split: [
      ask(entity, fact, texts[entity.article_id], config.seed)
      for entity, fact in sample(
        {
          entity: [fact for fact in entity.facts if is_asked(entity, fact)]
          for entity in splits[split]
        },
        lambda fact: fact.relation,
        limit,
        f'{config.seed}/ask/{split}',
      )
    ]
    for split, limit in question_limits(config).items()
  }


def question_limits(config: config_lib.WorldConfig) -> dict[str, int]:
  """Returns the maximum number of questions in each split."""
  return {
    'train': config.num_train_questions,
    'dev': config.num_dev_questions,
    'test': config.num_test_questions,
  }


def split_entities(
  entities: Sequence[gazetteer.Entity], seed: int
) -> dict[str, list[gazetteer.Entity]]:
  """Splits the entities of each kind into 'train', 'dev' and 'test'."""
  splits = {'train': [], 'dev': [], 'test': []}
  for kind in ('city', 'country'):
    members = [entity for entity in entities if entity.kind == kind]
    random.Random(f'{seed}/split/{kind}').shuffle(members)
    num_test = round(_TEST_SHARE * len(members))
    num_held_out = num_test + round(_DEV_SHARE * len(members))
    splits['test'] += members[:num_test]
    splits['dev'] += members[num_test:num_held_out]
    splits['train'] += members[num_held_out:]
  return splits


def ask(
  entity: gazetteer.Entity, fact: gazetteer.Fact, text: str, seed: int
) -> questions.Question:
  """Returns a question about a fact, with id ARTICLE_ID/RELATION."""
  question_id = f'{entity.article_id}/{fact.relation}'
  wordings = templates.wordings(entity, fact).questions
  wording = random.Random(f'{seed}/question/{question_id}').choice(wordings)
  return questions.Question(
    templates.fill(wording, entity.name).text,
    answers(fact, text),
    question_id=question_id,
    gold_id=entity.article_id,
  )


def reword_splits(
  splits: Mapping[str, Sequence[questions.Question]],
  entities: Sequence[gazetteer.Entity],
  seed: int,
) -> dict[str, list[questions.Question]]:
  """Returns the questions of `ask_splits` in the words of X.

  Articles and training questions do not use these words. Ids and answers stay,
  so each fact is comparable in both wordings.
  """
  asked_about = {entity.article_id: entity for entity in entities}

  def reword(question: questions.Question) -> questions.Question:
    article_id, relation = question.question_id.rsplit('/', 1)
    entity = asked_about[article_id]
    wordings = templates.all_wordings()[entity.kind, relation].rewordings
    rng = random.Random(f'{seed}/{REWORDED}{question.question_id}')
    text = templates.fill(rng.choice(wordings), entity.name).text
    return question._replace(question=text)

  return {
    REWORDED + split: [reword(question) for question in asked]
    for split, asked in splits.items()
  }


def is_asked(entity: gazetteer.Entity, fact: gazetteer.Fact) -> bool:
  """Returns whether the fact's relation has questions."""
  return bool(templates.wordings(entity, fact).questions)


def answers(fact: gazetteer.Fact, text: str) -> tuple[str, ...]:
  """Returns the values, and equivalent variants that occur in the text."""
  variants = [f'{value} {unit}' for value in fact.values for unit in fact.units]
  if fact.relation == 'latitude':
    variants.append(fact.values[0].split()[0])
  elif fact.relation in ('phone_code', 'domain'):
    variants.append(fact.values[0].lstrip('+.'))
  return fact.values + tuple(v for v in variants if v in text)


def sample(
  choices: Mapping[gazetteer.Entity, Sequence[_Choice]],
  relation: Callable[[_Choice], Hashable],
  limit: int,
  seed: str,
) -> list[tuple[gazetteer.Entity, _Choice]]:
  """Picks at most `limit` pairs, evenly over entities and relations.

  In each round, every entity gives the remaining choice with the rarest
  relation so far.
  """
  rng = random.Random(seed)
  pending = {
    entity: rng.sample(given, len(given))
    for entity, given in choices.items()
    if given
  }
  times_asked = collections.Counter()
  picked = []
  while pending and len(picked) < limit:
    for entity in rng.sample(list(pending), len(pending)):
      choice = min(pending[entity], key=lambda c: times_asked[relation(c)])
      times_asked[relation(choice)] += 1
      picked.append((entity, choice))
      pending[entity].remove(choice)
      if not pending[entity]:
        del pending[entity]
  return picked[:limit]
