"""Tests for realm_tf.model.strategies."""

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

  def test_a_missing_tpu_is_a_user_error(self):
    if tf.config.list_physical_devices('TPU'):
      self.skipTest('There is one.')
    with self.assertRaisesRegex(errors.UserError, 'strategy=tpu must find'):
      strategies.create('tpu')


if __name__ == '__main__':
  absltest.main()
