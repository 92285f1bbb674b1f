"""Tests for realm_tf.model.strategies."""

import contextlib
import os
import socket
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf.model import strategies


class StrategiesTest(parameterized.TestCase):
  @parameterized.parameters(
    ('off', type(tf.distribute.get_strategy())),
    ('one_device', tf.distribute.OneDeviceStrategy),
    ('mirrored', tf.distribute.MirroredStrategy),
  )
  def test_creates_the_named_strategy(self, name, expected):
    strategy = strategies.create(name)
    self.assertIsInstance(strategy, expected)
    gpus = len(tf.config.list_physical_devices('GPU'))
    replicas = max(gpus, 1) if name == 'mirrored' else 1
    self.assertEqual(strategy.num_replicas_in_sync, replicas)

  def test_waits_until_all_workers_listen(self):
    with contextlib.ExitStack() as opened:
      other = opened.enter_context(socket.socket())
      other.bind(('127.0.0.1', 0))  # It does not listen yet.
      workers = [f'127.0.0.1:{other.getsockname()[1]}', 'localhost:0']
      found = opened.enter_context(mock.patch.dict(os.environ, clear=True))
      logs = opened.enter_context(self.assertLogs('absl', 'INFO'))
      strategies.await_workers(workers, 1, lambda _: other.listen())
      self.assertIn(('no_grpc_proxy', '127.0.0.1,localhost'), found.items())
    self.assertIn(f'Waits for the workers {workers[0]}.', logs.output[0])

  def test_a_missing_tpu_is_a_user_error(self):
    if tf.config.list_physical_devices('TPU'):
      self.skipTest('There is one.')
    with self.assertRaisesRegex(errors.UserError, 'strategy=tpu must find'):
      strategies.create('tpu')


if __name__ == '__main__':
  absltest.main()
