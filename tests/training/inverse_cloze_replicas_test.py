"""Tests that ICT on two replicas equals ICT on the whole batch."""

import os
import subprocess
import sys
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from tests import source_tree
from tests.training import small_inverse_cloze

_TWO_REPLICAS = 'tests.training.two_replicas'


class InverseClozeReplicasTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    with tempfile.TemporaryDirectory() as directory:
      path = os.path.join(directory, 'results.npz')
      subprocess.run(
        [sys.executable, '-m', _TWO_REPLICAS, path],
        cwd=source_tree.ROOT,
        check=True,
      )
      cls.results: dict[str, dict[str, np.ndarray]] = {}
      with np.load(path) as arrays:
        for key, value in arrays.items():
          case, _, name = key.partition('|')
          cls.results.setdefault(case, {})[name] = value

  @parameterized.parameters(
    ('two replicas', 'one replica'),
    ('chunks', 'one replica'),
    ('chunks, dropout', 'dropout'),  # The same dropout both times.
  )
  def test_cases_are_equal(self, case, expected):
    small_inverse_cloze.assert_close(self.results[case], self.results[expected])

  def test_dropout_changes_the_loss(self):
    self.assertNotAlmostEqual(
      float(self.results['dropout']['loss']),
      float(self.results['one replica']['loss']),
      2,
    )


if __name__ == '__main__':
  absltest.main()
