"""Tests for realm_tf.corpus.conll."""

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st

from realm_tf import errors
from realm_tf.corpus import conll

Entity = conll.Entity
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
    self.assertEqual(first.entities, (Entity(0, 2, 'PER'), Entity(3, 4, 'LOC')))
    self.assertEqual(second, (('Rain',), ()))
    self.assertEqual(first.text, 'Zoe Li saw Bern')
    found = [first.text[e.start : e.end] for e in first.in_characters()]
    self.assertEqual(found, ['Zoe Li', 'Bern'])

  def test_spaces_cut_no_columns_of_a_line_with_tabs(self):
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


@st.composite
def _entities(draw):
  lengths = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3))))
  entities, position = [], 0
  for gap, length in lengths:
    kind = draw(st.sampled_from(['PER', 'LOC']))
    entities.append(Entity(position + gap, position + gap + length, kind))
    position += gap + length
  return position + draw(st.integers(0, 2)), entities


class LabelsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('iob1', 'O I-A I-A O I-A', [(1, 3, 'A'), (4, 5, 'A')]),
    ('neighbors_of_iob1', 'I-A B-A I-A', [(0, 1, 'A'), (1, 3, 'A')]),
    ('other_type', 'B-A I-B I-B', [(0, 1, 'A'), (1, 3, 'B')]),
    ('type_with_hyphen', 'B-A-B I-A-B', [(0, 2, 'A-B')]),
  )
  def test_decodes_as_conlleval(self, labels, expected):
    self.assertEqual(conll.decode(labels.split()), expected)

  @hypothesis.given(_entities())
  def test_decode_inverts_encode(self, case):
    num_words, entities = case
    labels = conll.encode(num_words, entities)
    self.assertLen(labels, num_words)
    self.assertEqual(conll.decode(labels), entities)


class ScoreTest(absltest.TestCase):
  def test_counts_whole_entities_over_all_sentences(self):
    gold = [[Entity(0, 2, 'A'), Entity(3, 4, 'B')], [Entity(0, 1, 'A')]]
    predicted = [[Entity(0, 2, 'A'), Entity(3, 4, 'A'), Entity(5, 6, 'A')], []]
    # One of three is right: one has another type, one is not in `gold`.
    scores = conll.score(gold, predicted)
    self.assertSequenceAlmostEqual(scores, [100 / 3] * 3)

  def test_f1_is_the_harmonic_mean_and_nothing_found_is_zero(self):
    entity = Entity(0, 1, 'A')
    scores = conll.score([[entity]], [[entity, Entity(1, 2, 'A')]])
    self.assertSequenceAlmostEqual(scores, [50.0, 100.0, 200 / 3])
    self.assertEqual(conll.score([[entity]], [[]]), (0, 0, 0))
    self.assertEqual(conll.score([[]], [[]]), (0, 0, 0))


if __name__ == '__main__':
  absltest.main()
