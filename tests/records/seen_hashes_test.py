"""Tests for realm_tf.records.seen_hashes."""

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np

from realm_tf.records import seen_hashes

_HASHES = st.lists(
  st.one_of(st.integers(0, 20), st.integers(2**64 - 20, 2**64 - 1))
)


class SeenHashesTest(absltest.TestCase):
  @hypothesis.given(st.lists(_HASHES))
  def test_does_what_a_set_does(self, batches):
    seen, expected = seen_hashes.SeenHashes(), set()
    for batch in batches:
      is_new = []
      for value in batch:
        is_new.append(value not in expected)
        expected.add(value)
      np.testing.assert_array_equal(
        seen.add(np.array(batch, np.uint64)), is_new
      )
    self.assertLen(seen, len(expected))

  def test_runs_stay_few(self):
    seen = seen_hashes.SeenHashes()
    for i in range(1000):
      seen.add(np.arange(10 * i, 10 * i + 10, dtype=np.uint64))
    self.assertLen(seen, 10_000)
    self.assertLess(len(seen._runs), 16)


if __name__ == '__main__':
  absltest.main()
