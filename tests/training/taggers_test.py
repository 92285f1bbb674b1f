"""Tests for realm_tf.training.taggers."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.corpus import terms
from realm_tf.data import block_table
from realm_tf.training import taggers
from tests import tiny


class MakeTest(parameterized.TestCase):
  def test_rules(self):
    tagger = taggers.make('rules')
    self.assertEqual(tagger.tag(['Chad is dry.']), [[(0, 4)]])

  @parameterized.parameters(
    ('terms', ['steel hull']), ('rules+terms', ['Ada Lund'])
  )
  def test_terms_alone_and_without_names(self, spec, expected):
    text = 'Her steel hull was built by Ada Lund.'
    # 36 words: ln(2/36 / (2/36 * 2/36)) = ln 18 = 2.9, a phrase.
    others = [f'x{i} y{i}' for i in range(15)]
    articles = [[text] for text in ['a steel hull', 'steel hull b', *others]]
    tagger = taggers.make(spec, find_terms=lambda: terms.find(articles))
    (found,) = tagger.tag([text])
    self.assertCountEqual([text[a:b] for a, b in found], expected)

  def test_terms_of_a_large_corpus_are_from_a_part_of_its_articles(self):
    corpus = self.create_tempdir().full_path + '/corpus'
    articles = [
      sources.Article('', text, str(i))
      for i, text in enumerate(['A b. C d.', 'C d. E.', 'A b.', 'E. C d.'])
    ]
    tiny.write_blocks(tiny.cut(articles, max_block_wordpieces=8), corpus)
    table = block_table.BlockTable.open(corpus)
    self.assertEqual(taggers.terms_of(table).words, ['a', 'b', 'c', 'd', 'e'])
    with mock.patch.object(taggers, '_MOST_WORDPIECES', 15):
      self.assertEqual(taggers.terms_of(table).words, ['a', 'b'])

  @parameterized.parameters(
    ('spacy:en_none', 'spacy download en_none'),
    ('bert:/no/such', 'bin.train_tagger'),
  )
  def test_a_missing_model_is_a_user_error(self, spec, message):
    with self.assertRaisesRegex(errors.UserError, message):
      taggers.make(spec)

  @parameterized.parameters(
    '',
    'rule',
    'spacy',
    'spacy:',
    'rules:x',
    'bert',
    'bert:',
    'terms:x',
    '+terms',
  )
  def test_unknown_tagger_is_a_user_error(self, spec):
    with self.assertRaisesRegex(errors.UserError, "'rules', 'spacy:NAME'"):
      taggers.make(spec)


if __name__ == '__main__':
  absltest.main()
