"""Tests for realm_tf.retrieval.device_retriever."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.model import precision
from realm_tf.retrieval import device_retriever
from realm_tf.tpu import lowering
from tests import forks
from tests import tiny
from tests import xla_graphs
from tests.index import small

_DEFAULT = tf.distribute.get_strategy()


class DeviceRetrieverTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.results = forks.arrays_of('tests.retrieval.four_devices')

  @parameterized.parameters(
    '1 device', '1 brute_force', '4 device', '4 brute_force'
  )
  def test_devices_find_the_blocks_of_an_exact_search_on_the_host(self, case):
    np.testing.assert_array_equal(
      self.results[case]['block_ids'], self.results['host']['block_ids']
    )
    np.testing.assert_allclose(
      self.results[case]['scores'], self.results['host']['scores'], atol=1e-6
    )

  def test_devices_embed_blocks_as_one_does(self):
    found = self.results['blocks']
    self.assertEqual(found['four'].shape, (9, 4))
    self.assertGreater(np.abs(found['one']).max(), 0.01)
    np.testing.assert_allclose(found['four'], found['one'], atol=1e-5)

  def test_blocks_with_equal_embeddings_are_in_the_order_of_ids(self):
    ids = self.results['4 device']['block_ids']
    scores = self.results['4 device']['scores']
    is_tie = np.diff(scores, axis=1) == 0
    self.assertTrue(is_tie.any())
    self.assertTrue((np.diff(ids, axis=1)[is_tie] > 0).all())

  def test_blocks_spread_over_the_bins_of_a_tpu_are_found_by_their_ids(self):
    # Blocks of equal embeddings may change places.
    found, expected = (
      self.results['blocks']['embeddings'][self.results[case]['block_ids']]
      for case in ('spread', 'host')
    )
    np.testing.assert_array_equal(found, expected)

  def test_parts_are_whole_groups_and_hold_all_blocks(self):
    # 13,353,718 / 64 = 208,651.8; 3,261 groups of 64 are 208,704.
    self.assertEqual(device_retriever.part_size(13_353_718, 64), 208_704)
    self.assertEqual(device_retriever.part_size(64, 1), 64)
    self.assertEqual(device_retriever.part_size(65, 1), 128)

  @parameterized.parameters(
    # 4 numbers of 4 bytes a block: 33,554,432 blocks take half of a GiB.
    ('auto', 1 << 25, True),
    ('auto', (1 << 25) + 1, False),
    ('device', 1 << 30, True),
    ('scann', 100, False),
  )
  def test_blocks_are_held_by_devices_with_room(self, searcher, number, holds):
    config = tiny.changed(small.CONFIG, index={'searcher': searcher})
    self.assertEqual(
      device_retriever.holds_blocks(_DEFAULT, config, number), holds
    )

  def test_a_cpu_alone_embeds_as_before(self):
    self.assertFalse(device_retriever.is_used(_DEFAULT))

  def test_a_tpu_can_run_the_program_of_a_core(self):
    with precision.planned_for_tpu(), lowering.OneOfMany(4).scope():
      retriever = device_retriever.DeviceRetriever(
        tf.distribute.get_strategy(), small.CONFIG, small.SPECIAL_IDS, 1000
      )
      program = tf.function(retriever.distributed, autograph=False)
      ids = tf.TensorSpec([2, 6], tf.int32)
      graph = program.get_concrete_function(ids, 5).graph
    self.assertEmpty(xla_graphs.problems(graph))
    self.assertIn('ApproxTopK', str(graph.as_graph_def()))

  @parameterized.parameters(7, 300, 1024)
  def test_neighbours_are_spread_and_every_block_has_a_place(self, number):
    ids = device_retriever.spread(np.arange(number), number)
    self.assertCountEqual(ids, range(number))
    self.assertGreater(np.abs(np.diff(ids)).min(), number // 4)


if __name__ == '__main__':
  absltest.main()
