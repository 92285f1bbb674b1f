"""Tests for realm_tf.world.templates and the wordings."""

import re

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.world import templates

# Words that any question may use, and the unit km.
_FUNCTION_WORDS = set(
  'a all an another are at by do does from has have how in into is it km many'
  ' much of on one show the to under what where which who whom with'.split()
)
_RELATIONS = [
  (f'{kind}_{relation}', wordings)
  for (kind, relation), wordings in templates.all_wordings().items()
]


class FillTest(parameterized.TestCase):
  def test_span_is_the_value(self):
    filled = templates.fill('Clocks in {e} follow {v}.', 'Lyon', ['Paris'])
    self.assertEqual(filled.text, 'Clocks in Lyon follow Paris.')
    self.assertEqual(filled.spans, ((22, 27),))

  def test_lists_have_a_span_per_value(self):
    text, spans, names = templates.fill(
      '{e} borders {v}.', 'Chad', ['Niger', 'Libya', 'Sudan']
    )
    self.assertEqual(text, 'Chad borders Niger, Libya and Sudan.')
    self.assertEqual([text[a:b] for a, b in spans], ['Niger', 'Libya', 'Sudan'])
    self.assertEqual([text[a:b] for a, b in names], ['Chad'])

  def test_the_article_is_outside_the_span(self):
    text, spans, names = templates.fill(
      '{v} is next to {e}.', 'Canada', ['United States']
    )
    self.assertEqual(text, 'The United States is next to Canada.')
    self.assertEqual(spans, ((4, 17),))
    self.assertEqual([text[a:b] for a, b in names], ['Canada'])

  @parameterized.parameters(
    ('Cayman Islands', True),
    ('Dominican Republic', True),
    ('Republic of the Congo', True),
    ('United Arab Emirates', True),
    ('France', False),
    ('UK', True),
    ('U.S.', True),
    ('Ukraine', False),
    ('Netherlands', True),
    ('Island', False),
    ('Islandia', False),
  )
  def test_some_names_take_an_article(self, name, expected):
    self.assertEqual(templates.with_article(name) != name, expected)


def _words(wordings):
  text = re.sub(r'\{.\}', '', ' '.join(wordings)).lower()
  return set(re.findall('[a-z]+', text)) - _FUNCTION_WORDS


class WordingsTest(parameterized.TestCase):
  @parameterized.named_parameters(*_RELATIONS)
  def test_sets_are_disjoint_and_have_the_right_blanks(self, wordings):
    self.assertGreaterEqual(len(wordings.statements), 4)
    self.assertGreaterEqual(len(wordings.sentences), 4)
    for wording in wordings.statements + wordings.sentences:
      self.assertCountEqual(
        re.findall(r'\{.\}', wording), ['{e}', '{v}'], wording
      )

  @parameterized.named_parameters(*_RELATIONS)
  def test_rewordings_share_words_with_sentences_and_not_with_articles(
    self, wordings
  ):
    self.assertLen(wordings.rewordings, 3 if wordings.nouns else 0)
    statements = _words(wordings.statements)
    sentences = _words(wordings.sentences)
    for wording in wordings.rewordings:
      self.assertEqual(re.findall(r'\{.\}', wording), ['{e}'], wording)
      words = _words([wording])
      self.assertEmpty(words & statements, wording)
      self.assertNotEmpty(words & sentences, wording)
    parts = [x.partition(' ') for x in wordings.nouns + wordings.clauses]
    trained = [' '.join(x) for x in parts if x[0] not in ('dev', 'test')]
    shared = _words(trained) & _words(wordings.rewordings)
    self.assertEmpty(
      shared - {'and', 'between', 'for', 'next', 'that', 'there'}
    )

  def test_no_wording_is_used_twice(self):
    for kind in ('city', 'country'):
      flat = [
        wording
        for (of_kind, _), wordings in templates.all_wordings().items()
        for group in wordings
        for wording in group
        if of_kind == kind
      ]
      self.assertNotEmpty(flat)
      self.assertLen(set(flat), len(flat))


if __name__ == '__main__':
  absltest.main()
