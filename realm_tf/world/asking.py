"""Writes questions about facts in the articles of entities.

The splits ask about different entities, so training questions teach how to look
up a fact, not the facts of the test.
"""

import collections
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
import random
from typing import TypeVar

from realm_tf import config as config_lib
from realm_tf.corpus import questions
from realm_tf.corpus import sources
from realm_tf.world import forms
from realm_tf.world import gazetteer
from realm_tf.world import templates

REWORDED, UNSEEN = 'reworded_', 'unseen_'
# Countries are few, but most asked about. Each counts as this many askers; in
# training, half of them ask only for common facts, each in another form.
_COUNTRY_ASKERS = 8
_Asker = TypeVar('_Asker')
_Choice = TypeVar('_Choice')
_Item = TypeVar('_Item')
_TEST_SHARES, _DEV_SHARE = {'city': 0.15, 'country': 0.2}, 0.08  # Of entities.


def ask_splits(
  entities: Sequence[gazetteer.Entity],
  articles: Sequence[sources.Article],
  config: config_lib.WorldConfig,
) -> dict[str, list[questions.Question]]:
  """Returns questions of 'train', 'dev' and 'test', in forms of training."""
  texts = {article.article_id: article.text for article in articles}
  splits = split_entities(entities, config.seed)
  return {
    split: [
      ask(entity, fact, texts[entity.article_id], config.seed, time)
      for (entity, time), fact in sample(
        dict(askers(splits[split], split)),
        lambda asker, fact: (asker[0].kind, fact.relation),
        limit,
        f'{config.seed}/ask/{split}',
      )
    ]
    for split, limit in limits(config).items()
  }


def askers(
  entities: Sequence[gazetteer.Entity], split: str
) -> Iterator[tuple[tuple[gazetteer.Entity, int], list[gazetteer.Fact]]]:
  """Yields (entity, number of the asker) and the facts to ask for.

  Only training asks for a fact more than once.
  """
  for entity in entities:
    facts = [fact for fact in entity.facts if is_asked(entity, fact)]
    common = [fact for fact in facts if fact.relation in gazetteer.COMMON]
    askers = _COUNTRY_ASKERS if entity.kind == 'country' else 1
    for time in range(askers):
      if split == 'train':
        yield (entity, time), common if time < askers // 2 else facts
      else:
        yield (entity, time), facts[time::askers]


def limits(
  config: config_lib.WorldConfig, kind: str = 'questions'
) -> dict[str, int]:
  """Returns the field num_SPLIT_KIND of 'train', 'dev' and 'test'.

  `kind` is 'questions' or 'impossible'.
  """
  splits = 'train', 'dev', 'test'
  return {split: getattr(config, f'num_{split}_{kind}') for split in splits}


def split_entities(
  entities: Sequence[gazetteer.Entity], seed: int
) -> dict[str, list[gazetteer.Entity]]:
  """Splits the entities of each kind into 'train', 'dev' and 'test'."""
  splits = {'train': [], 'dev': [], 'test': []}
  for kind, test_share in _TEST_SHARES.items():
    members = [entity for entity in entities if entity.kind == kind]
    random.Random(f'{seed}/split/{kind}').shuffle(members)
    num_test = round(test_share * len(members))
    num_held_out = num_test + round(_DEV_SHARE * len(members))
    splits['test'] += members[:num_test]
    splits['dev'] += members[num_test:num_held_out]
    splits['train'] += members[num_held_out:]
  return splits


def ask(
  entity: gazetteer.Entity,
  fact: gazetteer.Fact,
  text: str,
  seed: int,
  time: int = 0,
) -> questions.Question:
  """Returns a question about a fact, with id ARTICLE_ID/RELATION.

  Questions about one fact have different forms: `time` counts them.
  """
  question_id = f'{entity.article_id}/{fact.relation}'
  rng = random.Random(f'{seed}/question/{question_id}/{time}')
  form = forms.choose(templates.wordings(entity, fact), 'train', rng)
  return questions.Question(
    forms.write(form, entity, rng),
    answers(fact, text),
    question_id=question_id,
    gold_id=entity.article_id,
  )


def ask_again(
  splits: Mapping[str, Sequence[questions.Question]],
  entities: Sequence[gazetteer.Entity],
  seed: int,
) -> dict[str, list[questions.Question]]:
  """Returns the questions of 'dev' and 'test' in two other ways.

  REWORDED has the words of X, which articles and training questions do not use;
  UNSEEN has forms without training questions. Ids and answers stay, so each
  fact is comparable in all ways.
  """
  asked_about = {entity.article_id: entity for entity in entities}
  result = {}
  for prefix in (REWORDED, UNSEEN):
    for split in ('dev', 'test'):
      result[prefix + split] = again = []
      for question in splits[split]:
        article_id, relation = question.question_id.rsplit('/', 1)
        entity = asked_about[article_id]
        rng = random.Random(f'{seed}/{prefix}{question.question_id}')
        wordings = templates.all_wordings()[entity.kind, relation]
        if prefix == UNSEEN:
          form = forms.choose(wordings, split, rng, unseen=True)
          text = forms.write(form, entity, rng)
        else:
          wording = rng.choice(wordings.rewordings)
          text = templates.fill(wording, entity.name).text
        again.append(question._replace(question=text))
  return result


def is_asked(entity: gazetteer.Entity, fact: gazetteer.Fact) -> bool:
  """Returns whether the fact's relation has questions."""
  return bool(templates.wordings(entity, fact).nouns)


def answers(fact: gazetteer.Fact, text: str) -> tuple[str, ...]:
  """Returns the values, and equivalent variants that occur in the text."""
  variants = [f'{value} {unit}' for value in fact.values for unit in fact.units]
  if len(fact.values) > 1:  # The list, if it has no "the".
    variants.append(', '.join(fact.values[:-1]) + f' and {fact.values[-1]}')
  if fact.relation == 'latitude':
    variants.append(fact.values[0].split()[0])
  elif fact.relation in ('phone_code', 'domain'):
    variants.append(fact.values[0].lstrip('+.'))
  return fact.values + tuple(v for v in variants if v in text)


def sample(
  choices: Mapping[_Asker, Sequence[_Choice]],
  relation: Callable[[_Asker, _Choice], Hashable],
  limit: int,
  seed: str,
) -> list[tuple[_Asker, _Choice]]:
  """Picks at most `limit` pairs, evenly over relations, then over askers.

  In each round, every relation has one pair, as long as it has any.
  """
  pairs = [(asker, choice) for asker in choices for choice in choices[asker]]
  random.Random(seed).shuffle(pairs)
  numbered = _in_turns(pairs, [asker for asker, _ in pairs])
  return _in_turns(numbered, [relation(*pair) for pair in numbered])[:limit]


def _in_turns(
  items: Sequence[_Item], groups: Sequence[Hashable]
) -> list[_Item]:
  """Returns the first of each group, then the second of each, and so on."""
  seen = collections.Counter()
  numbers = []
  for group in groups:
    seen[group] += 1
    numbers.append(seen[group])
  order = sorted(range(len(items)), key=numbers.__getitem__)
  return [items[i] for i in order]
