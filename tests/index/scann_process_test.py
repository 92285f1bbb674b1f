"""Tests that realm_tf.index.scann_process agrees with ScannSearcher."""

import os
import signal
import subprocess
import sys

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import scann_process
from realm_tf.index import scann_searcher
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import null_block

_NUM_BLOCKS, _SIZE = 300, 8
_EFFORT = searcher_lib.Effort(leaves_to_search=9, num_to_rescore=50)

# Loads a searcher and is killed before any clean-up.
_DYING_PARENT = """
import os, signal, sys
import numpy
from realm_tf.index import scann_process, searcher
loaded = scann_process.ScannProcess.load(
  sys.argv[1], int(sys.argv[2]), {10: searcher.Effort(9, 50)}
)
loaded.search(numpy.zeros([1, 8]), 3)
os.kill(os.getpid(), signal.SIGKILL)
"""


class ScannProcessTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    rng = np.random.default_rng(0)
    blocks = rng.standard_normal([_NUM_BLOCKS, _SIZE]).astype(np.float32)
    cls.queries = rng.standard_normal([40, _SIZE]).astype(np.float32)
    cls.built = scann_searcher.ScannSearcher.build(
      blocks, config_lib.IndexConfig(searcher='scann')
    ).with_effort(_EFFORT)

  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.built.save(self.directory)

  def _load(self, efforts=None):
    return scann_process.ScannProcess.load(
      self.directory, self.built.num_leaves, efforts or {10: _EFFORT}
    )

  def test_agrees_with_the_searcher_in_this_process(self):
    loaded = self._load()
    for num_queries, k in ((1, 3), (40, 10), (2, 1)):
      queries = self.queries[:num_queries]
      found, expected = (s.search(queries, k) for s in (loaded, self.built))
      np.testing.assert_array_equal(found.block_ids, expected.block_ids)
      np.testing.assert_array_equal(found.scores, expected.scores)

  def test_each_k_has_its_effort(self):
    little = searcher_lib.Effort(1, 5)
    loaded = self._load({5: little, 10: _EFFORT})
    for k, effort in ((5, little), (6, _EFFORT), (11, _EFFORT)):
      np.testing.assert_array_equal(
        loaded.search(self.queries, k).block_ids,
        self.built.with_effort(effort).search(self.queries, k).block_ids,
      )

  def test_k_above_the_number_of_blocks_is_filled_up(self):
    found = self._load().search(self.queries[:2], _NUM_BLOCKS + 5)
    self.assertEqual(found.block_ids.shape, (2, _NUM_BLOCKS + 5))
    self.assertTrue((found.block_ids[:, -5:] == null_block.ID).all())
    self.assertTrue(np.isneginf(found.scores[:, -5:]).all())

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
