"""Tests for realm_tf.index.faiss_searcher; see searcher_test for agreement."""

import pathlib
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import faiss_searcher
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import tuning
from realm_tf.records import null_block


def _normal(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


class FaissSearcherTest(parameterized.TestCase):
  def test_what_is_not_found_has_no_id(self):
    # One of 8 partitions is searched, and it holds about 5 of 40 blocks.
    config = config_lib.IndexConfig(
      num_leaves=8, leaves_to_search_fraction=1 / 8, num_to_rescore=40
    )
    blocks = _normal(40, 8)
    neighbors = faiss_searcher.FaissSearcher.build(blocks, config).search(
      blocks[:3], 30
    )
    self.assertEqual(neighbors.block_ids.shape, (3, 30))
    for row in range(3):
      found = neighbors.block_ids[row] != null_block.ID
      count = int(found.sum())
      self.assertBetween(count, 1, 29)
      self.assertTrue(found[:count].all())  # Missing ones are behind.
      self.assertTrue(np.isneginf(neighbors.scores[row, count:]).all())
      np.testing.assert_allclose(
        neighbors.scores[row, :count],
        blocks[neighbors.block_ids[row, :count]] @ blocks[row],
        rtol=1e-5,
      )

  @parameterized.parameters(3, 4)  # An odd width has a code for each dimension.
  def test_smallest_corpus(self, width):
    blocks = _normal(tuning.MIN_BLOCKS, width)
    config = config_lib.IndexConfig(leaves_to_search_fraction=1.0)
    searcher = faiss_searcher.FaissSearcher.build(blocks, config)
    ids = searcher.search(blocks[:2], 25).block_ids
    for row in ids.tolist():
      self.assertEqual(sorted(row), list(range(16)))

  def test_building_twice_gives_the_same_file(self):
    files = []
    for _ in range(2):
      searcher = faiss_searcher.FaissSearcher.build(
        _normal(200, 8), config_lib.IndexConfig()
      )
      path = self.create_tempdir().full_path
      searcher.save(path)
      [file] = pathlib.Path(path).iterdir()
      files.append(file.read_bytes())
    self.assertEqual(files[0], files[1])

  def test_more_effort_finds_more(self):
    blocks = _normal(2000, 8)
    config = config_lib.IndexConfig(num_leaves=40)
    searcher = faiss_searcher.FaissSearcher.build(blocks, config)
    scores = [
      searcher.with_effort(searcher_lib.Effort(*effort))
      .search(-blocks[:50], 10)
      .scores.mean()
      for effort in ((2, 10), (20, 10), (20, 200))
    ]
    self.assertLess(scores[0], scores[1])
    self.assertLess(scores[1], scores[2])

  def test_how_to_install_it_is_said(self):
    code = (
      'import sys; sys.modules["faiss"] = None\n'
      'from realm_tf import errors\n'
      'try:\n'
      '  from realm_tf.index import faiss_searcher\n'
      'except errors.UserError as error:\n'
      '  print(error)'
    )
    done = subprocess.run(
      [sys.executable, '-c', code], capture_output=True, text=True, check=True
    )
    self.assertIn("pip install 'realm_tf[faiss]'", done.stdout)


if __name__ == '__main__':
  absltest.main()
