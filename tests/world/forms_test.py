"""Tests for realm_tf.world.forms."""

import random
import re

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.world import fillers
from realm_tf.world import forms
from realm_tf.world import gazetteer
from realm_tf.world import templates

_ALL = templates.all_wordings()
_ASKED = [
  (f'{kind}_{relation}', wordings)
  for (kind, relation), wordings in _ALL.items()
  if wordings.nouns
]
_UK = gazetteer.Entity('country/GB', 'United Kingdom', 'country', (), ('UK',))


def _train_forms(kind, relation):
  return forms.forms(_ALL[kind, relation], 'train')


def _texts(form, seeds=range(200)):
  return {forms.write(form, _UK, random.Random(seed)) for seed in seeds}


class FormsTest(parameterized.TestCase):
  @parameterized.named_parameters(*_ASKED)
  def test_splits_share_no_form(self, wordings):
    train = forms.forms(wordings, 'train')
    dev = forms.forms(wordings, 'dev', unseen=True)
    test = forms.forms(wordings, 'test', unseen=True)
    self.assertLen(train | dev | test, len(train) + len(dev) + len(test))
    self.assertGreaterEqual(len(train), 70)
    self.assertGreaterEqual(len(dev), 20)
    self.assertGreaterEqual(len(test), 50)

  @parameterized.named_parameters(*_ASKED)
  def test_a_form_names_the_entity_once(self, wordings):
    for split in ('train', 'dev', 'test'):
      for form in forms.forms(wordings, split, split != 'train'):
        self.assertLen(re.findall(r'\{[egx]\}', form), 1, form)
        self.assertNotRegex(form, r'  |\{(?![egx]\})|\bthe (the|a) |[.] [a-z]')

  @parameterized.named_parameters(*_ASKED)
  def test_dev_and_test_have_words_of_their_own(self, wordings):
    words = {
      split: set(
        re.findall(
          r'\w+', ' '.join(forms.forms(wordings, split, split != 'train'))
        )
      )
      for split in ('train', 'dev', 'test')
    }
    self.assertNotEmpty(words['dev'] - words['train'] - words['test'])
    self.assertNotEmpty(words['test'] - words['train'] - words['dev'])

  def test_parts_fill_frames(self):
    capital = _train_forms('country', 'capital')
    self.assertContainsSubset(
      {
        'What is the capital of {e}?',
        "What's {g} capital city?",
        '{x} capital',
        '<find> the capital of {e}.',
        'from which city is {e} governed?',
        '<know> from which city {e} is governed?',
        '<know> where the government of {e} sits?',
        '<going> {e} <time>. What is its capital?',
      },
      capital,
    )
    money = _train_forms('country', 'currency')
    self.assertIn('<about> {e}. What money do they use there?', money)
    self.assertIn('what money do people in {e} use?', money)
    languages = _train_forms('country', 'languages')
    self.assertIn('What are {g} languages?', languages)

  def test_names_have_articles_aliases_and_genitives(self):
    self.assertEqual(
      _texts("What's {g} capital?"),
      {
        f'{what} {name}{mark}'
        for what, names in (
          ("What's", ("the United Kingdom's capital", "the UK's capital")),
          ("what's", ("the united kingdom's capital", "the uk's capital")),
        )
        for name in names
        for mark in ('?', '')
      },
    )
    states = _UK._replace(name='United States', aliases=())
    text = forms.write('{g} area', states, random.Random(0))
    self.assertEqual(text.lower(), "the united states' area")
    self.assertIn('UK capital', _texts('{x} capital'))

  def test_plain_questions_name_a_noun_phrase(self):
    for form in forms.plain_forms(_ALL['country', 'currency']):
      self.assertIn('{e}', form)
      self.assertEndsWith(form, '?')

  def test_question_words_move_to_the_end(self):
    forms_of = _train_forms('country', 'currency')
    self.assertContainsSubset(
      {
        '{e} has what currency?',
        'people in {e} use what money?',
        'the currency of {e} is what?',
        'they speak what languages in {e}?',
        '{e} borders on what?',
      },
      forms_of
      | _train_forms('country', 'languages')
      | _train_forms('country', 'neighbours'),
    )

  def test_a_third_of_training_is_plain(self):
    rng = random.Random(0)
    chosen = [
      forms.choose(_ALL['country', 'capital'], 'train', rng)
      for _ in range(2000)
    ]
    plain = {
      form
      for form in _train_forms('country', 'capital')
      if re.match(r'(what|which|where|from|in) .*[?]|[^.?]+$', form, re.I)
    }
    self.assertBetween(sum(c in plain for c in chosen) / 2000, 0.25, 0.45)
    self.assertGreater(len(set(chosen)), 1300)

  def test_chosen_forms_name_the_entity_once_and_have_no_lists(self):
    for split in ('train', 'dev', 'test'):
      for seed in range(300):
        form = forms.choose(
          _ALL['city', 'country'], split, random.Random(seed), split != 'train'
        )
        self.assertLen(re.findall(r'\{[egx]\}', form), 1, form)
        self.assertNotRegex(form, r'[<>]|  | ,|[.?!][.?!]|[.!?] [a-z]|[,:] Co')

  def test_fillers_and_lists_of_the_splits_differ(self):
    for kind in ('<', '>', '<?', '>?'):
      rows = [fillers.rows(kind, of) for of in ('train', 'dev', 'test')]
      self.assertNotEmpty(rows[2] if kind != '<' else rows[1])
      flat = [text for of in rows for text in of]
      self.assertLen(set(flat), len(flat))
    train = ' '.join(fillers.rows('=', 'train'))
    for row in fillers.rows('=', 'test') + fillers.rows('=', 'dev'):
      for words in row.split(' ', 1)[1].split('; '):
        self.assertNotRegex(train, rf'[ ;]{words}(;|$)')

  def test_a_filler_is_added_if_required(self):
    for seed in range(50):
      form = fillers.add('{x} area', 'test', random.Random(seed), True)
      self.assertNotEqual(form, '{x} area')

  def test_fillers_of_the_split_wrap_a_question(self):
    wrapped = {
      forms.wrap('Who wrote it?', split, random.Random(seed))
      for split in ('train', 'test')
      for seed in range(4999)
    }
    self.assertContainsSubset(
      {'who wrote it?', 'easy question: who wrote it?'}, wrapped
    )
    self.assertIn('Hey everyone! Who wrote it?', wrapped)
    self.assertNotIn('Howdy, who wrote it?', wrapped)


if __name__ == '__main__':
  absltest.main()
