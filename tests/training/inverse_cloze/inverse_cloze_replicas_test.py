"""Tests that ICT on two replicas is ICT on the whole batch."""

import os
import subprocess
import sys
import tempfile

from absl.testing import absltest
import numpy as np

from tests import source_tree
from tests.training.inverse_cloze import small_inverse_cloze


class InverseClozeReplicasTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    with tempfile.TemporaryDirectory() as directory:
      path = os.path.join(directory, 'results.npz')
      subprocess.run(
        [
          sys.executable,
          '-m',
          'tests.training.inverse_cloze.two_replicas',
          path,
        ],
        cwd=source_tree.ROOT,
        check=True,
      )
      cls.results: dict[str, dict[str, np.ndarray]] = {}
      with np.load(path) as arrays:
        for key, value in arrays.items():
          case, _, name = key.partition('|')
          cls.results.setdefault(case, {})[name] = value

  def _assert_same(self, case, expected):
    small_inverse_cloze.assert_close(self.results[case], self.results[expected])

  def test_two_replicas_compute_what_one_does(self):
    self._assert_same('two replicas', 'one replica')

  def test_and_so_they_do_in_chunks(self):
    self._assert_same('chunks', 'one replica')

  def test_chunks_have_the_same_dropout_both_times(self):
    self._assert_same('chunks, dropout', 'dropout')
    self.assertNotAlmostEqual(
      float(self.results['dropout']['loss']),
      float(self.results['one replica']['loss']),
      2,
    )


if __name__ == '__main__':
  absltest.main()
