"""Tests for realm_tf.records.answer_presence."""

from absl.testing import absltest
import numpy as np

from realm_tf.records import answer_presence
from realm_tf.records import answer_spans


class _Table:
  """Blocks of random wordpieces, zero-padded."""

  def __init__(self, bodies):
    self._bodies, self.num_blocks = bodies, len(bodies)

  def gather(self, ids, title_length, body_length):
    del title_length
    return None, self._bodies[ids][:, :body_length]


class IsAnyInTest(absltest.TestCase):
  def test_agrees_with_a_search_answer_by_answer(self):
    rng = np.random.default_rng(0)
    bodies = rng.integers(1, 60, [700, 20]).astype(np.int32)
    bodies[:, 15:] = 0
    found = set()
    for width in (1, 2, 3, 9, 14, 25):
      for row in (3, 699):
        answer = bodies[row, :width] if width < 15 else np.ones(width, np.int32)
        for changed in (False, True):
          answer = answer.copy()
          answer[-1] = 61 if changed else answer[-1]
          expected = answer_spans.contain(bodies, [answer]).any()
          actual = answer_presence.is_any_in(_Table(bodies), [answer], 20)
          self.assertEqual(actual, expected)
          found.add(expected)
    self.assertEqual(found, {True, False})

  def test_no_answer_is_never_found(self):
    table = _Table(np.ones([3, 4], np.int32))
    for answers in ([], [np.zeros(0, np.int32)]):
      self.assertFalse(answer_presence.is_any_in(table, answers, 4))


if __name__ == '__main__':
  absltest.main()
