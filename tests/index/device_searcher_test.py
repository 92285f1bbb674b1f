"""Tests that realm_tf.index.device_searcher agrees with exact search."""

import subprocess
import sys
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.index import brute_force
from realm_tf.index import device_searcher
from realm_tf.index import exact_search


def _ties(*shape):
  """Returns small integers: products are exact in float32, with many ties."""
  rng = np.random.default_rng(0)
  return rng.integers(-2, 3, shape).astype(np.float32)


def _strategy():
  # A new strategy for each test, so that patched code is compiled again.
  return tf.distribute.OneDeviceStrategy('/cpu:0')


def check(num_replicas: int):
  """Compares with exact search, in a process with logical devices."""
  devices = [f'/cpu:{i}' for i in range(num_replicas)]
  strategy = tf.distribute.MirroredStrategy(devices)
  if strategy.num_replicas_in_sync != num_replicas:
    raise ValueError(f'Only {strategy.num_replicas_in_sync} replicas.')
  for num_blocks, k in ((1, 1), (65, 3), (700, 2), (700, 90), (3001, 8)):
    blocks, queries = _ties(num_blocks, 3), _ties(5, 3)
    searcher = device_searcher.DeviceSearcher(blocks, strategy=strategy)
    with mock.patch.object(exact_search, '_MAX_CHUNK_ROWS', 256):
      actual = searcher.search(queries, k)
    expected = brute_force.BruteForceSearcher(blocks).search(queries, k)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_array_equal(actual.scores, expected.scores)


class DeviceSearcherTest(parameterized.TestCase):
  # 256 makes chunks of 4 groups: with `k` >= 2 whole chunks are sorted.
  @parameterized.product(
    chunk=(256, 1024), num_blocks=(3, 64, 1000, 2048), k=(1, 3, 8, 200)
  )
  def test_agrees_with_exact_search_including_ties(self, chunk, num_blocks, k):
    blocks, queries = _ties(num_blocks, 3), _ties(6, 3)
    searcher = device_searcher.DeviceSearcher(blocks, strategy=_strategy())
    with mock.patch.object(exact_search, '_MAX_CHUNK_ROWS', chunk):
      actual = searcher.search(queries, k)
    expected = brute_force.BruteForceSearcher(blocks).search(queries, k)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_array_equal(actual.scores, expected.scores)
    self.assertEqual(actual.block_ids.dtype, np.int32)
    self.assertEqual(actual.scores.dtype, np.float32)

  def test_padding_is_not_found_if_all_scores_are_negative(self):
    blocks = -np.ones([70, 2], np.float32)
    found = device_searcher.DeviceSearcher(blocks).search(-blocks[:1], 80)
    self.assertEqual(found.block_ids.tolist(), [list(range(70))])
    self.assertEqual(set(found.scores[0].tolist()), {-2.0})

  def test_best_blocks_in_one_group_are_all_found(self):
    blocks = np.zeros([8192, 1], np.float32)
    blocks[640:648, 0] = range(1, 9)
    found = device_searcher.DeviceSearcher(blocks).search(
      np.ones([1, 1], np.float32), 8
    )
    self.assertEqual(found.block_ids.tolist(), [list(range(647, 639, -1))])

  def test_bfloat16_blocks_are_scored_in_float32(self):
    rng = np.random.default_rng(0)
    blocks = rng.normal(size=[500, 16]).astype(np.float32)
    queries = rng.normal(size=[4, 16]).astype(np.float32)
    rounded = tf.cast(tf.cast(blocks, tf.bfloat16), tf.float32).numpy()
    self.assertGreater(abs(rounded - blocks).max(), 1e-3)
    expected = brute_force.BruteForceSearcher(rounded).search(queries, 5)
    actual = device_searcher.DeviceSearcher(blocks, 'bfloat16').search(
      queries, 5
    )
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)

  def test_many_queries_are_searched_in_parts(self):
    blocks, queries = _ties(100, 3), _ties(11, 3)
    with mock.patch.object(device_searcher, '_MAX_QUERIES', 4):
      actual = device_searcher.DeviceSearcher(blocks).search(queries, 5)
    expected = brute_force.BruteForceSearcher(blocks).search(queries, 5)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)

  def test_replicas_share_the_blocks(self):
    # Logical devices must be made before TensorFlow starts.
    code = (
      'import tensorflow as tf; '
      'cpu = tf.config.list_physical_devices("CPU")[0]; '
      'tf.config.set_logical_device_configuration('
      'cpu, [tf.config.LogicalDeviceConfiguration()] * 3); '
      'from tests.index import device_searcher_test as test; '
      '[test.check(n) for n in (1, 2, 3)]; print("agreed")'
    )
    done = subprocess.run(
      [sys.executable, '-c', code], capture_output=True, text=True
    )
    self.assertEqual(done.stdout.split()[-1:], ['agreed'], done.stderr[-2000:])

  def test_approximate_top_of_a_tpu_has_the_same_form(self):
    # Without a TPU, XLA's result is exact.
    blocks, queries = tf.constant(_ties(512, 3)), tf.constant(_ties(4, 3))
    rows, scores = tf.function(exact_search.top_rows, jit_compile=True)(
      blocks, queries, tf.constant(300), 5, exact_search.approximate_top
    )
    _, expected = exact_search.top_rows(blocks, queries, 300, 5)
    np.testing.assert_array_equal(scores, expected)
    found = tf.gather(blocks, rows)  # [4, 5, 3]
    np.testing.assert_array_equal(tf.linalg.matvec(found, queries), scores)
    self.assertLess(np.max(rows), 300)


if __name__ == '__main__':
  absltest.main()
