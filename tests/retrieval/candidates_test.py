"""Tests for realm_tf.retrieval.candidates."""

from absl.testing import absltest
import numpy as np

from realm_tf import interfaces
from realm_tf.retrieval import candidates

_NULL = interfaces.NULL_BLOCK


def _slow_select(neighbors, own, num_candidates):
  """One row of `select` in plain Python."""
  row = [_NULL]
  for block in neighbors:
    if block >= 0 and block != own and block not in row:
      row.append(block)
  row = row[:num_candidates]
  return row + [_NULL] * (num_candidates - len(row))


class SelectTest(absltest.TestCase):
  def test_agrees_with_a_slow_loop(self):
    rng = np.random.default_rng(0)
    neighbors = rng.integers(-1, 8, [500, 6])  # Many repeats.
    own = rng.integers(-1, 8, 500)
    for num_candidates in (1, 2, 4, 9):
      expected = [
        _slow_select(row.tolist(), own[i], num_candidates)
        for i, row in enumerate(neighbors)
      ]
      actual = candidates.select(neighbors, own, num_candidates)
      self.assertEqual(actual.tolist(), expected)
      self.assertEqual(actual.dtype, np.int32)


class IsRealTest(absltest.TestCase):
  def test_first_null_block_is_real_and_fillers_are_not(self):
    real = candidates.is_real(
      np.array([[_NULL, 5, 3], [_NULL, 0, _NULL], [_NULL, _NULL, _NULL]])
    )
    self.assertEqual(
      real.tolist(),
      [[True, True, True], [True, True, False], [True, False, False]],
    )


class HaveSpanTest(absltest.TestCase):
  def test_finds_the_whole_span_and_nothing_else(self):
    # Query 0 masks [7, 8]: blocks 2 and 3 have it; in block 1, 9 is in between.
    # Query 1 masks [9]: block 1 has it; block 3 does not exist.
    has_span = candidates.have_span(
      np.array(
        [
          [[9, 0, 0], [7, 9, 8], [9, 7, 8], [7, 8, 0]],
          [[7, 8, 0], [7, 9, 0], [8, 0, 0], [0, 0, 0]],
        ]
      ),
      np.array([[7, 8, 0], [9, 0, 0]]),
      np.array([[3, 4, 0], [5, 0, 0]]),
    )
    self.assertEqual(
      has_span.tolist(),
      [[False, False, True, True], [False, True, False, False]],
    )

  def test_a_block_must_have_each_run_of_masks(self):
    # Masks: 7 at position 1, [8, 9] from 3 on. Block 0 has both; block 1 has
    # both in the other order; block 2 has 8 without 9 after it; block 3 no 7.
    has_span = candidates.have_span(
      np.array([[[7, 6, 8, 9], [8, 9, 7, 0], [7, 8, 6, 9], [6, 8, 9, 0]]]),
      np.array([[7, 8, 9, 0]]),
      np.array([[1, 3, 4, 0]]),
    )
    self.assertEqual(has_span.tolist(), [[True, True, False, False]])


if __name__ == '__main__':
  absltest.main()
