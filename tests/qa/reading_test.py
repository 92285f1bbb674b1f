"""Tests for realm_tf.qa.reading.

The exact twin packs all pairs to the longest and reads them in one call.
"""

import dataclasses
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.qa import reading
from tests.index import small

_JOINT_TOKENS = 24
# Number of wordpieces of each question's blocks; 0 for no block.
_BODIES = ((3, 20, 0), (1, 7, 30), (0, 0, 0), (12, 4, 20))
_QUESTIONS = (4, 1, 2, 0)


def _ids(lengths):
  """Returns random wordpieces, zeros after them, int32 [..., longest]."""
  lengths = np.array(lengths)
  rng = np.random.default_rng(0)
  ids = rng.integers(5, 20, [*lengths.shape, lengths.max()])
  is_used = np.arange(lengths.max()) < lengths[..., None]
  return np.where(is_used, ids, 0).astype(np.int32)


class PairReaderTest(tf.test.TestCase, parameterized.TestCase):
  scores = np.arange(12, dtype=np.float32).reshape(4, 3)
  arrays = _ids(_QUESTIONS), _ids(np.full([4, 3], 2)), _ids(_BODIES)

  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.model = realm_model.RealmModel(small.CONFIG.model, [realm_model.SPAN])

  def _reader(self, dtype='float32', backend='tensorflow', **changes):
    score = reading.fastest_score(self.model, dtype, backend)
    return self._reader_of(score, **changes)

  def _reader_of(self, score, **changes):
    return reading.PairReader(
      score,
      self.model.config.max_span_width,
      small.SPECIAL_IDS,
      dataclasses.replace(
        small.CONFIG.finetuning, joint_tokens=_JOINT_TOKENS, **changes
      ),
    )

  def _at_once(self, read_titles):
    questions, titles, bodies = map(tf.constant, self.arrays)
    joint = joining.pack_pairs(
      questions,
      bodies,
      *small.SPECIAL_IDS,
      _JOINT_TOKENS,
      titles if read_titles else None,
    )
    spans = self.model.span_reader(joint, bodies.shape[2]).spans
    return np.where(
      interfaces.has_score(spans),
      spans + self.scores[:, :, None, None],
      interfaces.NO_SCORE,
    )

  @parameterized.product(
    read_titles=[False, True], backend=['tensorflow', 'openvino']
  )
  def test_groups_do_not_change_scores_and_no_block_has_no_span(
    self, read_titles, backend
  ):
    reader = self._reader(read_titles=read_titles, backend=backend)
    expected = self._at_once(read_titles)
    for tokens in (1, 60, 4096):
      with mock.patch.object(reading, '_GROUP_TOKENS', tokens):
        actual = reader(*self.arrays, self.scores).spans
      self.assertEqual(
        actual.shape, (4, 3, 30, small.CONFIG.model.max_span_width)
      )
      self.assertEqual(actual.dtype, np.float32)
      self.assertAllClose(actual, expected, rtol=1e-5, atol=1e-5)
      # The cut block has spans only before the cut.
      is_span = interfaces.has_score(actual).any(axis=-1).sum(axis=-1)
      cut = 30 - 10 - (3 if read_titles else 0)
      self.assertAllEqual(is_span[1], [1, 7, cut])
    question_ids, title_ids, body_ids = self.arrays
    none = np.zeros_like(body_ids)
    without = reader(question_ids, title_ids, none, self.scores)
    self.assertFalse(interfaces.has_score(without.spans).any())
    self.assertFalse(interfaces.has_score(without.null).any())

  def test_bfloat16_is_close(self):
    exact = self._reader()(*self.arrays, self.scores).spans
    is_span = interfaces.has_score(exact)
    for backend in ('tensorflow', 'openvino'):
      close = self._reader('bfloat16', backend)(*self.arrays, self.scores).spans
      np.testing.assert_array_equal(interfaces.has_score(close), is_span)
      difference = np.abs(close - exact)[is_span]
      # OpenVINO keeps float32 on processors that do not multiply bfloat16.
      is_exact = backend == 'openvino' and not precision.prefers_bfloat16()
      # Close, but not equal.
      self.assertBetween(difference.max(), 0 if is_exact else 1e-6, 0.02)

  @parameterized.parameters('float32', 'bfloat16')
  def test_one_graph_for_all_sizes(self, dtype):
    traced = []
    call = self.model.span_reader.call

    def count(*args, **kwargs):
      traced.append(args)
      return call(*args, **kwargs)

    with mock.patch.object(self.model.span_reader, 'call', count):
      reader = self._reader(dtype)
      for number in (4, 1, 3):
        arrays = (array[:number] for array in (*self.arrays, self.scores))
        reader(*arrays)
    self.assertLen(traced, 1)

  def test_each_call_uses_the_current_variables(self):
    score = reading.tensorflow_score(self.model, 'float32')
    reader = self._reader_of(score)
    before = reader(*self.arrays, self.scores).spans
    bias = self.model.span_reader.score.bias
    bias.assign_add([1.0])
    self.addCleanup(bias.assign_sub, [1.0])  # All tests share the model.
    after = reader(*self.arrays, self.scores).spans
    is_span = interfaces.has_score(before)
    self.assertAllClose(after[is_span], before[is_span] + 1, rtol=1e-5)

  def test_padding_and_missing_blocks_are_not_computed(self):
    score = reading.tensorflow_score(self.model, 'float32')
    sizes = []

    def count(tokens, body_length):
      sizes.append(tokens['input_word_ids'].shape)
      return score(tokens, body_length)

    with mock.patch.object(reading, '_GROUP_TOKENS', 48):
      self._reader_of(count)(*self.arrays, self.scores)
    # The joint lengths: 24 (cut), 23, 23, 15, 10, 11, 10 and 5.
    computed = sum(rows * length for rows, length in sizes)
    lengths = sum(
      min(_JOINT_TOKENS, 3 + question + body)
      for question, bodies in zip(_QUESTIONS, _BODIES)
      for body in bodies
      if body
    )
    self.assertEqual(sum(rows for rows, _ in sizes), 8)
    self.assertBetween(computed, lengths, 1.2 * lengths)

  def test_pairs_that_were_read_are_not_computed_again(self):
    score = reading.tensorflow_score(self.model, 'float32')
    computed = []

    def counted(tokens, body_length):
      computed.append(len(tokens['input_mask']))
      return score(tokens, body_length)

    once = self._reader_of(score)
    kept = self._reader_of(reading.KeptScore(counted))
    first = [array[:2] for array in (*self.arrays, self.scores)]
    for arrays in first, (*self.arrays, self.scores), first:
      for actual, expected in zip(kept(*arrays), once(*arrays)):
        self.assertAllClose(actual, expected, 1e-5, 1e-5)
    # 2 and 3 blocks of the first two questions, then 3 of the last.
    self.assertEqual(sum(computed), 8)
    with mock.patch.object(reading, '_MOST_KEPT_BYTES', 0):
      kept = self._reader_of(reading.KeptScore(counted))
    others = [first[0][::-1], *first[1:]]  # The questions change places.
    for number, arrays in enumerate((first, others, first), 1):
      kept(*arrays)
      self.assertEqual(sum(computed), 8 + 5 * number)


if __name__ == '__main__':
  tf.test.main()
