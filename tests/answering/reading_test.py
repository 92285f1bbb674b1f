"""Tests for realm_tf.answering.reading: pairs read in groups, and all at once.

The exact twin packs all pairs to the longest and reads them in one call.
"""

import dataclasses
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.answering import reading
from realm_tf.modeling import realm_model
from realm_tf.objectives import exclusion
from realm_tf.records import joining
from tests.index import small

_JOINT_TOKENS = 24
# Wordpieces of the blocks of each question; 0 is no block.
_BODIES = ((3, 20, 0), (1, 7, 30), (0, 0, 0), (12, 4, 20))
_QUESTIONS = (4, 1, 2, 0)


def _ids(lengths):
  """Returns random wordpieces, zeros behind, int32 [..., longest]."""
  lengths = np.array(lengths)
  rng = np.random.default_rng(0)
  ids = rng.integers(5, 20, [*lengths.shape, lengths.max()])
  is_used = np.arange(lengths.max()) < lengths[..., None]
  return np.where(is_used, ids, 0).astype(np.int32)


class PairReaderTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.model = realm_model.RealmModel(small.CONFIG.model, [realm_model.SPAN])
    self.config = dataclasses.replace(
      small.CONFIG.finetuning, joint_tokens=_JOINT_TOKENS
    )
    self.scores = np.arange(12, dtype=np.float32).reshape(4, 3)
    self.arrays = _ids(_QUESTIONS), _ids(np.full([4, 3], 2)), _ids(_BODIES)

  def _reader(self, **changes):
    config = dataclasses.replace(self.config, **changes)
    return reading.PairReader(self.model, small.SPECIAL_IDS, config)

  def _at_once(self, read_titles):
    questions, titles, bodies = map(tf.constant, self.arrays)
    joint = joining.pack_pairs(
      questions,
      bodies,
      *small.SPECIAL_IDS,
      _JOINT_TOKENS,
      titles if read_titles else None,
    )
    spans = self.model.span_reader(joint, bodies.shape[2])
    return np.where(
      exclusion.exists(spans),
      spans + self.scores[:, :, None, None],
      exclusion.NO_SCORE,
    )

  @parameterized.product(read_titles=[False, True], tokens=[1, 60, 4096])
  def test_groups_change_nothing(self, read_titles, tokens):
    with mock.patch.object(reading, '_GROUP_TOKENS', tokens):
      actual = self._reader(read_titles=read_titles)(*self.arrays, self.scores)
    expected = self._at_once(read_titles)
    self.assertEqual(
      actual.shape, (4, 3, 30, small.CONFIG.model.max_span_width)
    )
    self.assertEqual(actual.dtype, np.float32)
    self.assertAllClose(actual, expected, rtol=1e-5, atol=1e-5)
    # Spans there are, and in the cut block none where it is cut.
    is_span = exclusion.exists(actual).any(axis=-1).sum(axis=-1)
    cut = 30 - 10 - (3 if read_titles else 0)
    self.assertAllEqual(is_span[1], [1, 7, cut])

  def test_bfloat16_is_close(self):
    exact = self._reader()(*self.arrays, self.scores)
    reader = reading.PairReader(
      self.model, small.SPECIAL_IDS, self.config, 'bfloat16'
    )
    close = reader(*self.arrays, self.scores)
    is_span = exclusion.exists(exact)
    np.testing.assert_array_equal(exclusion.exists(close), is_span)
    difference = np.abs(close - exact)[is_span]
    self.assertBetween(difference.max(), 1e-6, 0.02)  # Other, but not by much.

  @parameterized.parameters('float32', 'bfloat16')
  def test_one_graph_for_all_sizes(self, dtype):
    reader = reading.PairReader(
      self.model, small.SPECIAL_IDS, self.config, dtype
    )
    for number in (4, 1, 3):
      arrays = (array[:number] for array in (*self.arrays, self.scores))
      reader(*arrays)
    self.assertEqual(reader.num_traces, 1)

  def test_padding_and_missing_blocks_are_not_computed(self):
    reader = self._reader()
    sizes = []
    score = reader._score

    def count(ids, *rest):
      sizes.append(ids.shape)
      return score(ids, *rest)

    with (
      mock.patch.object(reader, '_score', count),
      mock.patch.object(reading, '_GROUP_TOKENS', 48),
    ):
      reader(*self.arrays, self.scores)
    # The joint lengths: 24 (cut), 23, 23, 15, 10, 11, 10 and 5.
    computed = sum(rows * length for rows, _, length in sizes)
    lengths = sum(
      min(_JOINT_TOKENS, 3 + question + body)
      for question, bodies in zip(_QUESTIONS, _BODIES)
      for body in bodies
      if body
    )
    self.assertEqual(sum(rows for rows, _, _ in sizes), 8)
    self.assertBetween(computed, lengths, 1.2 * lengths)

  def test_no_block_at_all(self):
    question_ids, title_ids, body_ids = self.arrays
    actual = self._reader()(
      question_ids, title_ids, np.zeros_like(body_ids), self.scores
    )
    self.assertLess(actual.max(), exclusion.NO_SCORE / 2)


if __name__ == '__main__':
  tf.test.main()
