"""Tests for realm_tf.corpus.entity_labels."""

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st

from realm_tf.corpus import entity_labels

Entity = entity_labels.Entity


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
    ('nothing', '', []),
    ('iob1', 'O I-A I-A O I-A', [(1, 3, 'A'), (4, 5, 'A')]),
    ('iob2', 'O B-A I-A O B-A', [(1, 3, 'A'), (4, 5, 'A')]),
    ('neighbors_of_iob1', 'I-A B-A I-A', [(0, 1, 'A'), (1, 3, 'A')]),
    ('neighbors_of_iob2', 'B-A B-A I-A', [(0, 1, 'A'), (1, 3, 'A')]),
    ('other_type', 'B-A I-B I-B', [(0, 1, 'A'), (1, 3, 'B')]),
    ('type_with_hyphen', 'B-A-B I-A-B', [(0, 2, 'A-B')]),
  )
  def test_decodes_as_conlleval(self, labels, expected):
    self.assertEqual(entity_labels.decode(labels.split()), expected)

  @hypothesis.given(_entities())
  def test_encode_is_undone_by_decode(self, case):
    num_words, entities = case
    labels = entity_labels.encode(num_words, entities)
    self.assertLen(labels, num_words)
    self.assertEqual(entity_labels.decode(labels), entities)


class ScoreTest(absltest.TestCase):
  def test_counts_whole_entities_over_all_sentences(self):
    gold = [[Entity(0, 2, 'A'), Entity(3, 4, 'B')], [Entity(0, 1, 'A')]]
    predicted = [[Entity(0, 2, 'A'), Entity(3, 4, 'A'), Entity(5, 6, 'A')], []]
    # One of three is right: one has another type, one is not there.
    scores = entity_labels.score(gold, predicted)
    self.assertSequenceAlmostEqual(scores, [100 / 3] * 3)

  def test_f1_is_the_harmonic_mean(self):
    entity = Entity(0, 1, 'A')
    scores = entity_labels.score([[entity]], [[entity, Entity(1, 2, 'A')]])
    self.assertSequenceAlmostEqual(scores, [50.0, 100.0, 200 / 3])

  def test_nothing_found_is_zero(self):
    self.assertEqual(
      entity_labels.score([[Entity(0, 1, 'A')]], [[]]), (0, 0, 0)
    )
    self.assertEqual(entity_labels.score([[]], [[]]), (0, 0, 0))


if __name__ == '__main__':
  absltest.main()
