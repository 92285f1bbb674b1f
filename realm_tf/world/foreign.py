"""Writes questions about other subjects, and about places without an article.

Other subjects are the sections of outside.txt. Places are smaller cities of the
tables, regions, and names made of syllables, asked in the corpus's forms. The
corpus has no answer to any of them. The splits share no subject and no place.
"""

from collections.abc import Iterator, Sequence
import itertools
import random

from realm_tf.corpus import questions
from realm_tf.world import asking
from realm_tf.world import forms
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import missing
from realm_tf.world import templates

PREFIX = 'foreign_'
_PLACES_SHARE = 0.5  # The rest has other subjects.
_NAMED = 40  # Questions of a form of another subject about the world's places.
_COMMON_RATE = 0.6  # Share of the questions about places.
_ENDINGS = {
  'train': 'landia mara stan burgh oria dor'.split(),
  'dev': 'wick ovia nesse'.split(),
  'test': 'onia holm itania vale rath'.split(),
}
# A region has a capital, as countries do, and is in a country, as cities are.
_REGION_KINDS = ('country', 'country', 'city')
_QUESTION_WORDS = ('Who', 'What', 'When', 'Which', 'How', 'Why', 'In')


def ask_splits(world: generation.World) -> dict[str, list[questions.Question]]:
  """Returns the questions of PREFIX plus 'train', 'dev' and 'test'."""
  seed = world.config.seed
  named = asking.split_entities(world.entities, seed)
  places = _absent_places(world)
  result = {}
  for split, limit in asking.limits(world.config, 'impossible').items():
    rng = random.Random(f'{seed}/{PREFIX}{split}')
    number = limit - len(places[split])
    asked = [
      *_other_subjects(split, number, named[split], rng),
      *_about_places(split, places[split], rng),
    ]
    rng.shuffle(asked)
    result[PREFIX + split] = asked
  return result


def _other_subjects(
  split: str, number: int, named: Sequence[gazetteer.Entity], rng: random.Random
) -> Iterator[questions.Question]:
  """Yields questions of the split's subjects in turn, ids foreign/SUBJECT/N."""
  turns = []
  for (of, *header), section in missing.outside().items():
    if of == split and header[0] == 'subject':
      blanks = [x for line in section.blanks for x in line.split('; ')]
      asked = [
        (header[1], other.replace('{}', blank))
        for other in section.others
        for blank in blanks or [''] * _NAMED
      ]
      turns.append(rng.sample(asked, len(asked)))
  in_turn = itertools.chain(*itertools.zip_longest(*turns))
  chosen = itertools.islice(filter(None, in_turn), number)
  for i, (subject, form) in enumerate(chosen):
    if form.startswith(_QUESTION_WORDS) and form.endswith('?'):
      form = forms.wrap(form, split, rng)
    text = forms.write(form, rng.choice(named), rng)
    yield questions.Question(text, (), question_id=f'foreign/{subject}/{i}')


def _about_places(
  split: str, places: Sequence[tuple[str, str]], rng: random.Random
) -> Iterator[questions.Question]:
  """Yields a question for each (kind, name), with id absent/N/RELATION.

  Outside of training, half of them have forms that training lacks.
  """
  relations = {
    kind: [
      relation
      for (of, relation), wordings in templates.all_wordings().items()
      if of == kind and wordings.nouns
    ]
    for kind in ('city', 'country')
  }
  for i, (kind, name) in enumerate(places):
    choices = relations[kind]
    if rng.random() < _COMMON_RATE:
      choices = [x for x in choices if x in gazetteer.COMMON]
    relation = rng.choice(choices)
    unseen = split != 'train' and rng.random() < 0.5
    wordings = templates.all_wordings()[kind, relation]
    form = forms.choose(wordings, split, rng, unseen)
    text = forms.write(form, gazetteer.Entity('', name, kind, ()), rng)
    yield questions.Question(text, (), question_id=f'absent/{i}/{relation}')


def _absent_places(world: generation.World) -> dict[str, list[tuple[str, str]]]:
  """Returns (kind, name) of places that no article names, in random order.

  Half are cities, a quarter regions, as far as they last, the rest invented.
  """
  text = f' {" ".join(gazetteer.fold(a.text) for a in world.articles)} '
  places = gazetteer.load_places(world.config)
  used = {
    gazetteer.fold(name)
    for city in places.listed
    for name in (city.name, *city.alternatenames)
  }
  cities = iter(gazetteer.unlisted_names(places, world.config.seed))
  result = {}
  for split, limit in asking.limits(world.config, 'impossible').items():
    rng = random.Random(f'{world.config.seed}/{PREFIX}places/{split}')
    (blanks,) = missing.outside()[split, 'regions'].blanks
    regions = blanks.split('; ')
    kinds = {
      'cities': (('city', name) for name in cities),
      'regions': (
        (rng.choice(_REGION_KINDS), x) for x in rng.choices(regions, k=limit)
      ),
      'invented': (
        (rng.choice(('city', 'country')), _invent(split, rng))
        for _ in range(limit)
      ),
    }
    result[split] = chosen = []
    for kind, share in (('cities', 2), ('regions', 1), ('invented', 1)):
      absent = (
        (of, name)
        for of, name in kinds[kind]
        if (key := gazetteer.fold(name)) not in used and f' {key} ' not in text
      )
      number = round(_PLACES_SHARE * limit * share / 4)
      chosen += itertools.islice(absent, number)
    rng.shuffle(chosen)
  return result


def _invent(split: str, rng: random.Random) -> str:
  """Returns a name such as 'Kelvomara'; the endings are the split's."""
  first = rng.choice('B D F G K L M N P R S T V Z'.split())
  middle = rng.choice(('l', 'n', 'r', 's', '')) + rng.choice('bdfgkmptv')
  return (
    first
    + rng.choice('aeiou')
    + middle
    + rng.choice(('', 'a', 'e', 'i', 'o'))
    + rng.choice(_ENDINGS[split])
  )
