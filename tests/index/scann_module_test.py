"""Tests for realm_tf.index.scann_module."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.index import exact_search
from realm_tf.index import scann_module
from realm_tf.index import searcher

_ALL = searcher.Effort(20, 400)  # Leaves of 400 points.


def _clustered(seed):
  rng = np.random.default_rng(seed)
  centers = rng.normal(size=(20, 8)) * 3
  points = np.repeat(centers, 20, axis=0) + rng.normal(size=(400, 8)) * 0.3
  return points.astype(np.float32)


def _build(points):
  return scann_module.ScannModule.build(points, config_lib.IndexConfig())


def _saved(module, path):
  """Returns the search for the best 5, saved and loaded."""
  holder = tf.train.Checkpoint()
  holder.module = module
  holder.find = tf.function(
    lambda queries: module.find(queries, 5, _ALL),
    input_signature=[tf.TensorSpec([None, 8], tf.float32)],
  )
  tf.saved_model.save(holder, path)
  return tf.saved_model.load(path)


class ScannModuleTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.points = _clustered(0)
    self.module = _build(self.points)

  def test_searching_all_leaves_is_exact(self):
    queries = self.points[:7]
    expected = exact_search.BruteForceSearcher(self.points).search(queries, 5)
    found = self.module.search(queries, 5, _ALL)
    np.testing.assert_array_equal(found.block_ids, expected.block_ids)
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-5)

  def test_an_empty_batch_finds_nothing(self):
    found = self.module.search(np.zeros([0, 8], np.float32), 5, _ALL)
    self.assertEqual(found.block_ids.shape, (0, 5))

  def test_missing_hits_are_marked(self):
    little = searcher.Effort(1, 400)
    found = self.module.search(self.points[:3], 300, little)
    missing = found.block_ids == interfaces.NULL_BLOCK
    self.assertTrue(missing.any())
    np.testing.assert_array_equal(found.scores == -np.inf, missing)

  def test_two_saved_modules_stay_separate_in_one_process(self):
    other = _build(_clustered(1))
    queries = tf.constant(self.points[:3])
    for i, module in enumerate((self.module, other)):
      loaded = _saved(module, f'{self.create_tempdir().full_path}/{i}')
      np.testing.assert_array_equal(
        loaded.find(queries)[0],
        module.search(queries.numpy(), 5, _ALL).block_ids,
      )

  def test_few_blocks_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, 'Found 15. Use'):
      _build(self.points[:15])


if __name__ == '__main__':
  absltest.main()
