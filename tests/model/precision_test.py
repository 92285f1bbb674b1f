"""Tests for realm_tf.model.precision."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import precision

# The original function: tests/conftest.py replaces the module's.
_PREFERS = precision.prefers_bfloat16.__wrapped__
_CPU_LINES = 'processor : 0\nvendor_id\t: {}\nflags\t\t: fpu {} sse2\n\n'


class PrecisionTest(parameterized.TestCase):
  @parameterized.parameters('float32', 'bfloat16')
  def test_an_explicit_dtype_is_kept(self, dtype):
    self.assertEqual(precision.choose(dtype), dtype)

  @parameterized.parameters((True, 'bfloat16'), (False, 'float32'))
  def test_auto_follows_the_hardware(self, multiplies, expected):
    with mock.patch.object(precision, 'prefers_bfloat16', lambda: multiplies):
      self.assertEqual(precision.choose('auto'), expected)
      resolved = precision.resolve(config_lib.ExperimentConfig())
    self.assertEqual(resolved.model.train_dtype, expected)
    self.assertEqual(resolved.index.embed_dtype, expected)

  @parameterized.parameters(
    ('GenuineIntel', 'amx_bf16 avx512_bf16', True),
    ('AuthenticAMD', 'avx512_bf16', True),
    ('GenuineIntel', 'avx512_bf16', False),  # Float32 is faster.
    ('GenuineIntel', 'avx2 avx512f', False),
    ('AuthenticAMD', 'not_avx512_bf16', False),
    ('', 'not_amx_bf16', False),
    ('', '', False),  # A machine without such a file.
  )
  def test_cpu_features_decide_without_an_accelerator(
    self, vendor, features, expected
  ):
    path = '/no/such/file'
    if features:
      content = 2 * _CPU_LINES.format(vendor, features)
      path = self.create_tempfile(content=content).full_path
    with (
      mock.patch.object(precision, '_CPU_INFO', path),
      mock.patch.object(tf.config, 'list_physical_devices', lambda kind: []),
    ):
      self.assertEqual(_PREFERS(), expected)

  @parameterized.parameters(((8, 0), True), ((7, 5), False), (None, False))
  def test_gpu_generation_decides(self, capability, expected):
    details = {} if capability is None else {'compute_capability': capability}
    with (
      mock.patch.object(
        tf.config,
        'list_physical_devices',
        lambda kind: ['GPU'] * (kind == 'GPU'),
      ),
      mock.patch.object(
        tf.config.experimental, 'get_device_details', lambda gpu: details
      ),
    ):
      self.assertEqual(_PREFERS(), expected)


if __name__ == '__main__':
  absltest.main()
