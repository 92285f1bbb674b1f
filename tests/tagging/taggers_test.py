"""Tests for realm_tf.tagging.taggers."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.tagging import taggers


class MakeTest(parameterized.TestCase):
  def test_rules(self):
    tagger = taggers.make('rules', gazetteer=['Chad'])
    self.assertEqual(tagger.tag(['Chad is dry.']), [[(0, 4)]])

  @parameterized.parameters(
    ('spacy:en_none', 'spacy download en_none'),
    ('bert:/no/such', 'bin.train_tagger'),
  )
  def test_a_missing_model_is_a_user_error(self, spec, message):
    with self.assertRaisesRegex(errors.UserError, message):
      taggers.make(spec)

  @parameterized.parameters(
    '', 'rule', 'spacy', 'spacy:', 'rules:x', 'bert', 'bert:'
  )
  def test_unknown_tagger_is_a_user_error(self, spec):
    with self.assertRaisesRegex(errors.UserError, "'rules', 'spacy:NAME'"):
      taggers.make(spec)


if __name__ == '__main__':
  absltest.main()
