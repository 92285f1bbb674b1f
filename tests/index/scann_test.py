"""Tests for realm_tf.index.scann_{searcher,module}: here and in a child."""

import os
import pathlib
import signal
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.index import exact_search
from realm_tf.index import scann_module
from realm_tf.index import scann_searcher
from realm_tf.index import searcher as searcher_lib

_ALL = searcher_lib.Effort(leaves_to_search=10, num_to_rescore=1000)
_EFFORT = searcher_lib.Effort(leaves_to_search=9, num_to_rescore=50)

_KINDS = scann_searcher.ScannSearcher, scann_module.ScannModule

# Loads a searcher and is killed before any clean-up.
_DYING_PARENT = """
import os, signal, sys
import numpy
from realm_tf.index import scann_searcher, searcher
loaded = scann_searcher.ScannProcess.load(
  sys.argv[1], int(sys.argv[2]), {10: searcher.Effort(9, 50)}
)
loaded.search(numpy.zeros([1, 8]), 3)
os.kill(os.getpid(), signal.SIGKILL)
"""


def _normal(*shape):
  return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def _build(blocks, num_leaves=10, kind=scann_searcher.ScannSearcher):
  return kind.build(blocks, config_lib.IndexConfig(num_leaves=num_leaves))


class ScannSearcherTest(parameterized.TestCase):
  @parameterized.product(kind=_KINDS, k=(1, 5, 100))
  def test_exhaustive_search_agrees_with_brute_force(self, kind, k):
    blocks, queries = _normal(1000, 16), -_normal(8, 16)
    expected = exact_search.BruteForceSearcher(blocks).search(queries, k)
    searcher = _build(blocks, kind=kind)
    actual = searcher.search(queries, k, _ALL)
    np.testing.assert_array_equal(actual.block_ids, expected.block_ids)
    np.testing.assert_allclose(actual.scores, expected.scores, rtol=1e-5)
    self.assertEqual(actual.block_ids.dtype, np.int32)
    self.assertEqual(actual.scores.dtype, np.float32)
    for row, query in enumerate(queries):
      alone = searcher.search(query[None], k, _ALL)
      np.testing.assert_array_equal(alone.block_ids[0], actual.block_ids[row])

  @parameterized.parameters(*_KINDS)
  def test_missing_hits_have_no_id(self, kind):
    # One of 8 partitions is searched; a partition has about 5 of 40 blocks.
    blocks = _normal(40, 8)
    one = searcher_lib.Effort(1, 40)
    neighbors = _build(blocks, 8, kind).search(blocks[:3], 30, one)
    self.assertEqual(neighbors.block_ids.shape, (3, 30))
    for query, ids, scores in zip(blocks, *neighbors):
      found = ids != interfaces.NULL_BLOCK
      count = int(found.sum())
      self.assertBetween(count, 1, 29)
      self.assertTrue(found[:count].all())  # Missing hits come last.
      self.assertTrue(np.isneginf(scores[count:]).all())
      np.testing.assert_allclose(
        scores[:count], blocks[ids[:count]] @ query, rtol=1e-5
      )
      self.assertLen(set(ids[:count].tolist()), count)

  # An odd width has a code for each dimension.
  @parameterized.parameters(3, 4)
  def test_smallest_corpus(self, width):
    blocks = _normal(searcher_lib.MIN_BLOCKS, width)
    neighbors = _build(blocks).search(blocks[:2], 25, _ALL)
    for row in searcher_lib.fill(neighbors, 25).block_ids.tolist():
      self.assertEqual(sorted(row[:16]), list(range(16)))
      self.assertEqual(row[16:], [interfaces.NULL_BLOCK] * 9)

  # With 3000 blocks, SOAR adds a second partition for each block.
  @parameterized.parameters(200, 3000)
  def test_building_twice_gives_the_same_files(self, num_blocks):
    files = []
    for _ in range(2):
      path = pathlib.Path(self.create_tempdir().full_path)
      _build(_normal(num_blocks, 8)).save(str(path))
      files.append({file.name: file.read_bytes() for file in path.iterdir()})
    self.assertEqual(files[0], files[1])
    self.assertEqual('hashed_dataset_soar.npy' in files[0], num_blocks == 3000)

  def test_a_saved_searcher_can_move_and_nothing_is_unpickled(self):
    blocks, queries = _normal(200, 8), -_normal(5, 8)
    built = _build(blocks)
    path = self.create_tempdir().full_path
    built.save(path)
    # Unpickling this file would raise.
    pathlib.Path(path, 'scann_docids.pkl').write_bytes(b'no pickle')
    os.rename(path, path + '_moved')
    loaded = scann_searcher.ScannSearcher.load(
      path + '_moved', built.num_leaves
    )
    for actual, expected in zip(
      loaded.search(queries, 7, _EFFORT), built.search(queries, 7, _EFFORT)
    ):
      np.testing.assert_array_equal(actual, expected)


class ScannModuleTest(absltest.TestCase):
  def test_an_empty_batch_finds_nothing(self):
    module = _build(_normal(40, 8), kind=scann_module.ScannModule)
    found = module.search(np.zeros([0, 8], np.float32), 5, _ALL)
    self.assertEqual(found.block_ids.shape, (0, 5))

  def _saved(self, module):
    """Returns the search for the best 5, saved and loaded."""
    path = self.create_tempdir().full_path
    holder = tf.train.Checkpoint()
    holder.module = module
    holder.find = tf.function(
      lambda queries: module.find(queries, 5, _ALL),
      input_signature=[tf.TensorSpec([None, 8], tf.float32)],
    )
    tf.saved_model.save(holder, path)
    return tf.saved_model.load(path)

  def test_two_saved_modules_stay_separate_in_one_process(self):
    queries = _normal(3, 8)
    modules = [
      _build(blocks, kind=scann_module.ScannModule)
      for blocks in (_normal(40, 8), -_normal(40, 8))
    ]
    loaded = [*map(self._saved, modules)]
    for module, each in zip(modules, loaded):
      expected = module.search(queries, 5, _ALL).block_ids
      found, _ = each.find(tf.constant(queries))
      np.testing.assert_array_equal(found, expected)

  def test_few_blocks_are_refused(self):
    with self.assertRaisesRegex(errors.UserError, 'Found 15. Use'):
      _build(_normal(15, 8), kind=scann_module.ScannModule)


class ScannProcessTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.queries = -_normal(40, 8)
    cls.built = _build(_normal(300, 8))

  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.built.save(self.directory)

  def _load(self, efforts=None):
    return scann_searcher.ScannProcess.load(
      self.directory, self.built.num_leaves, efforts or {10: _EFFORT}
    )

  def test_agrees_with_the_searcher_in_this_process(self):
    little = searcher_lib.Effort(1, 5)
    loaded = self._load({5: little, 10: _EFFORT})
    for size, k, effort in (
      *((1, 3, little), (40, 5, little), (2, 1, little)),
      *((40, 6, _EFFORT), (1, 10, _EFFORT), (2, 305, _EFFORT)),
    ):
      queries = self.queries[:size]
      expected = self.built.search(queries, k, effort)
      expected = searcher_lib.fill(expected, k)
      for actual, same in zip(loaded.search(queries, k), expected):
        np.testing.assert_array_equal(actual, same)

  def test_the_process_ends_with_its_searcher(self):
    loaded = self._load()
    process = loaded._process
    self.assertIsNone(process.poll())
    del loaded
    self.assertEqual(process.returncode, 0)

  def test_the_process_ends_with_a_killed_parent(self):
    # The child inherits stderr, so `run` waits for the child's end.
    parent = subprocess.run(
      [sys.executable, '-c', _DYING_PARENT, self.directory]
      + [str(self.built.num_leaves)],
      stderr=subprocess.PIPE,
      env={**os.environ, 'PYTHONPATH': os.pathsep.join(sys.path)},
      check=False,
      timeout=60,
    )
    self.assertEqual(parent.returncode, -signal.SIGKILL)

  def test_a_damaged_searcher_is_an_error(self):
    os.remove(os.path.join(self.directory, 'scann_config.pb'))
    with self.assertRaisesRegex(OSError, self.directory):
      self._load()

  def test_a_killed_process_is_an_error(self):
    loaded = self._load()
    loaded._process.kill()
    with self.assertRaises(OSError):
      loaded.search(self.queries, 3)


if __name__ == '__main__':
  absltest.main()
