"""Tests for realm_tf.world.forms."""

import random
import re

from absl.testing import absltest
from absl.testing import parameterized

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
    self.assertGreaterEqual(len(test), 70)

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
        'Tell me the capital of {e}.',
        'from which city is {e} governed?',
        'Can you tell me from which city {e} is governed?',
        'Do you know where the government of {e} sits?',
        'We are going to {e}. What is its capital?',
      },
      capital,
    )
    money = _train_forms('country', 'currency')
    self.assertIn('We are going to {e}. What money do they use there?', money)
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

  def test_plain_forms_weigh_more(self):
    rng = random.Random(0)
    chosen = [
      forms.choose(_ALL['country', 'capital'], 'train', rng)
      for _ in range(1000)
    ]
    # "{q}?" has 8 of the frames' weights, which are 52 in total.
    direct = sum(
      bool(re.match('(what|which|where|from) .*[?]', c)) for c in chosen
    )
    self.assertBetween(direct / 1000, 0.11, 0.24)

  def test_a_frame_of_the_split_wraps_a_question(self):
    wrapped = {
      forms.wrap('Who wrote it?', split, random.Random(seed))
      for split in ('train', 'test')
      for seed in range(99)
    }
    self.assertContainsSubset(
      {'who wrote it?', 'Quick question: who wrote it?'}, wrapped
    )
    self.assertIn('Hey there! Who wrote it?', wrapped)
    self.assertNotIn('So who wrote it?', wrapped)


if __name__ == '__main__':
  absltest.main()
