"""Tests for realm_tf.corpus.distinct_ids."""

from unittest import mock

from absl.testing import absltest

from realm_tf.corpus import distinct_ids


class SeenIdsTest(absltest.TestCase):
  def test_an_id_is_new_once(self):
    names = [str(i % 300) for i in range(900)]
    for num_recent in (1, 7, 1000):
      with mock.patch.object(distinct_ids, '_NUM_RECENT', num_recent):
        seen = distinct_ids.SeenIds()
        is_new = [seen.add(name) for name in names]
      self.assertEqual(is_new, [True] * 300 + [False] * 600)


if __name__ == '__main__':
  absltest.main()
