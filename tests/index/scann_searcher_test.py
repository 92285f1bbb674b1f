"""Tests for realm_tf.index.scann_searcher; searcher_test.py has more."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import scann_searcher
from realm_tf.index import tuning


def _normal(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class ScannSearcherTest(absltest.TestCase):
  def test_soar_finds_more_in_the_same_number_of_partitions(self):
    blocks, queries = _normal(3000, 16), -_normal(200, 16)
    exact = np.argsort(-(queries @ blocks.T), axis=1)[:, :10]
    recalls = []
    for soar_lambda in (None, 1.5):
      config = config_lib.IndexConfig(leaves_to_search_fraction=0.1)
      with mock.patch.object(scann_searcher, '_SOAR_LAMBDA', soar_lambda):
        searcher = scann_searcher.ScannSearcher.build(blocks, config)
      recalls.append(tuning.recall(searcher.search(queries, 10)[0], exact))
    self.assertGreater(recalls[1], recalls[0] + 0.02)

  def test_single_queries_agree_with_a_batch(self):
    blocks, queries = _normal(2000, 8), -_normal(40, 8)
    searcher = scann_searcher.ScannSearcher.build(
      blocks, config_lib.IndexConfig()
    )
    together = searcher.search(queries, 10).block_ids
    alone = [searcher.search(query[None], 10).block_ids for query in queries]
    # A batch rounds its tables differently, so the last of 10 may differ.
    self.assertGreater(tuning.recall(np.concatenate(alone), together), 0.97)

  def test_a_saved_searcher_can_move_and_nothing_is_unpickled(self):
    blocks, queries = _normal(200, 8), -_normal(5, 8)
    config = config_lib.IndexConfig(leaves_to_search_fraction=0.5)
    built = scann_searcher.ScannSearcher.build(blocks, config)
    path = self.create_tempdir().full_path
    built.save(path)
    # Unpickling this file would raise.
    pathlib.Path(path, 'scann_docids.pkl').write_bytes(b'no pickle')
    os.rename(path, path + '_moved')
    loaded = scann_searcher.ScannSearcher.load(
      path + '_moved', built.num_leaves, built.effort
    )
    for actual, expected in zip(
      loaded.search(queries, 7), built.search(queries, 7)
    ):
      np.testing.assert_array_equal(actual, expected)


if __name__ == '__main__':
  absltest.main()
