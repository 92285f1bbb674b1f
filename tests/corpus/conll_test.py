"""Tests for realm_tf.corpus.conll."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import conll
from realm_tf.corpus import entity_labels

_FILE = """-DOCSTART- -X- -X- O

Zoe NNP I-NP I-PER
Li NNP I-NP I-PER
saw VBD I-VP O
Bern NNP I-NP I-LOC

-DOCSTART- -X- -X- O

Rain NN O
"""


class ConllTest(parameterized.TestCase):
  def _file(self, content):
    return self.create_tempfile('a.txt', content).full_path

  def test_reads_words_and_entities(self):
    first, second = conll.read([self._file(_FILE)])
    self.assertEqual(first.words, ('Zoe', 'Li', 'saw', 'Bern'))
    self.assertEqual(
      first.entities,
      (entity_labels.Entity(0, 2, 'PER'), entity_labels.Entity(3, 4, 'LOC')),
    )
    self.assertEqual(second, (('Rain',), ()))

  def test_entities_stand_in_the_text(self):
    sentence = conll.read([self._file(_FILE)])[0]
    self.assertEqual(sentence.text, 'Zoe Li saw Bern')
    self.assertEqual(
      [sentence.text[a:b] for a, b in sentence.character_spans()],
      ['Zoe Li', 'Bern'],
    )

  def test_tabs_alone_cut_the_columns_of_a_line_that_has_some(self):
    path = self._file(
      'New York\tNNP\tB-LOC\nZoe\u0301\xa0Li\tNNP\tB-PER\n\n'
      'Zoe\u0301\xa0Li  NNP B-PER\r\n'
    )
    first, second = conll.read([path])
    self.assertEqual(first.words, ('New York', 'Zoe\u0301\xa0Li'))
    self.assertLen(first.entities, 2)
    self.assertEqual(second.words, ('Zoe\u0301\xa0Li',))

  @parameterized.parameters(
    'Bern', 'Bern NNP', 'Bern NNP X-LOC', 'Bern I-', ' \tO'
  )
  def test_a_bad_line_is_a_user_error(self, line):
    path = self._file(f'Rain O\n{line}\n')
    with self.assertRaisesRegex(errors.UserError, f'{path}:2 must be a word'):
      conll.read([path])

  def test_a_file_without_sentences_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'must have labeled'):
      conll.read([self._file('\n-DOCSTART- O\n')])


if __name__ == '__main__':
  absltest.main()
