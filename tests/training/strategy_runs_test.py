"""Tests that each step has the same loss under all strategies.

One process, two devices, two hosts.
"""

import re
import socket

from absl.testing import absltest
import numpy as np

from tests.training import whole_runs

_NUM_STEPS = 10
_NO_DROPOUT = [
  f'model.{bert}_bert.{name}=0'
  for bert in ('embedder', 'reader')
  for name in ('dropout_rate', 'attention_dropout_rate')
]


def _free_ports(number):
  sockets = [socket.create_server(('127.0.0.1', 0)) for _ in range(number)]
  ports = [each.getsockname()[1] for each in sockets]
  for each in sockets:
    each.close()
  return ports


class StrategyRunsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.runs = whole_runs.Runs(
      self.create_tempdir().full_path,
      _NUM_STEPS,
      'pretraining.refresh_every_steps=4',
      'pretraining.checkpoint_every_steps=4',
      *_NO_DROPOUT,
    )

  def _train(self, name, *each_process):
    """Trains to the end; returns the losses."""
    pids = [
      self.runs.start_trainer(name, *flags) for flags in each_process or [()]
    ]
    self.runs.forks.finish(*pids, self.runs.start_refresher(name))
    return self.runs.losses(name)

  def test_losses_agree_under_all_strategies(self):
    expected = self._train('off')
    self.assertLen(expected, _NUM_STEPS)
    self.assertNotAlmostEqual(expected[1], expected[_NUM_STEPS], 2)
    mirrored = self._train(
      'mirrored', ['--distribution_strategy=mirrored', '--logical_cpus=2']
    )
    ports = _free_ports(2)
    hosts = ','.join(f'127.0.0.1:{port}' for port in ports)
    several = self._train(
      'several',
      *(
        [
          '--distribution_strategy=multi_worker_mirrored',
          f'--worker_hosts={hosts}',
          f'--task_index={task}',
        ]
        for task in range(2)
      ),
    )
    for losses in (mirrored, several):
      self.assertEqual(losses.keys(), expected.keys())
      np.testing.assert_allclose(
        list(losses.values()), list(expected.values()), rtol=1e-4
      )
    # Only the chief writes the parameters, but both workers log a fingerprint.
    ended = re.findall(
      f'Done with step {_NUM_STEPS} of {self.runs.run_dir("several")}, '
      'parameters ([0-9a-f]+)',
      self.runs.forks.logs(),
    )
    self.assertEqual(ended, 2 * [self.runs.fingerprint('several')])


if __name__ == '__main__':
  absltest.main()
