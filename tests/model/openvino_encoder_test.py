"""Tests for realm_tf.model.openvino_encoder."""

import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import openvino_encoder
from tests import source_tree

_LENGTHS = (11, 4, 1)  # Lengths of three rows without padding.


def _config(**kwargs):
  return config_lib.BertConfig(
    vocab_size=50,
    hidden_size=24,
    num_layers=3,
    num_heads=3,
    intermediate_size=40,
    max_positions=16,
    initializer_range=0.3,
    **kwargs,
  )


def _tokens():
  rng = np.random.default_rng(0)
  mask = np.arange(11) < np.array(_LENGTHS)[:, None]
  return {
    'input_word_ids': (rng.integers(1, 50, [3, 11]) * mask).astype(np.int32),
    'input_mask': mask.astype(np.int32),
    'input_type_ids': ((np.arange(11) > 2) * mask).astype(np.int32),
  }


# Compiles graphs, frees them in the same order, and gets a signal.
_SIGNALLED = """
import signal
import numpy as np
from realm_tf.model import openvino_encoder as lib

ones = np.ones([64, 64], np.float32)
signal.signal(signal.SIGTERM, lambda *_: print('handled'))
runs = []
for i in range(6):
  x = lib.ops.parameter([64, 64], np.float32)
  graph = lib.openvino.Model([lib.ops.matmul(x, x, False, False)], [x])
  runs.append(lib.compile_graph(graph, 'bfloat16'))
  runs[-1]([ones])
  while i % 3 == 2 and runs:
    del runs[0]
  signal.raise_signal(signal.SIGTERM)
"""


class OpenvinoEncoderTest(tf.test.TestCase, parameterized.TestCase):
  def _exact(self, config):
    encoder = bert.build_encoder(config)
    for variable in encoder.variables:  # Replaces biases of 0 and gains of 1.
      noise = tf.random.stateless_normal(variable.shape, seed=[1, 2])
      variable.assign_add(0.1 * noise)
    return encoder, encoder(_tokens())

  @parameterized.parameters('gelu_tanh', 'gelu', 'relu')
  def test_agrees_with_the_exact_encoder(self, activation):
    config = _config(activation=activation)
    encoder, exact = self._exact(config)
    actual = openvino_encoder.OpenvinoEncoder(encoder, config)(_tokens())
    self.assertAllClose(
      actual['pooled_output'], exact['pooled_output'], atol=1e-5
    )
    for row, length in enumerate(_LENGTHS):
      self.assertAllClose(
        actual['sequence_output'][row, :length],
        exact['sequence_output'][row, :length],
        atol=1e-5,
      )

  def test_the_first_position_is_the_same_alone(self):
    encoder, exact = self._exact(_config())
    actual = openvino_encoder.OpenvinoEncoder(
      encoder, _config(), cls_only=True
    )(_tokens())
    self.assertEqual(actual['sequence_output'].shape, (3, 1, 24))
    self.assertAllClose(
      actual['sequence_output'], exact['sequence_output'][:, :1], atol=1e-5
    )
    self.assertAllClose(
      actual['pooled_output'], exact['pooled_output'], atol=1e-5
    )

  def test_bfloat16_is_near(self):
    encoder, exact = self._exact(_config())
    actual = openvino_encoder.OpenvinoEncoder(encoder, _config(), 'bfloat16')
    pooled, expected = (
      actual(_tokens())['pooled_output'],
      exact['pooled_output'],
    )
    cosine = np.sum(pooled * expected, axis=1) / (
      np.linalg.norm(pooled, axis=1) * np.linalg.norm(expected, axis=1)
    )
    self.assertAllGreater(cosine, 0.999)

  def test_copies_the_variables(self):
    encoder, exact = self._exact(_config())
    kept = openvino_encoder.OpenvinoEncoder(encoder, _config())
    encoder.variables[0].assign_add(tf.ones_like(encoder.variables[0]))
    self.assertAllClose(
      kept(_tokens())['pooled_output'], exact['pooled_output'], atol=1e-5
    )

  def test_signals_work_after_graphs_are_freed(self):
    self.assertEqual(_printed_by(_SIGNALLED).split(), ['handled'] * 6)

  def test_a_missing_openvino_is_named(self):
    said = _printed_by(
      'import sys; sys.modules["openvino"] = None\n'
      'from realm_tf import errors\n'
      'try:\n'
      '  from realm_tf.model import openvino_encoder\n'
      'except errors.UserError as error:\n'
      '  print(error)\n'
    )
    self.assertIn("pip install 'realm_tf[openvino]'", said)


def _printed_by(script):
  done = subprocess.run(
    [sys.executable, '-X', 'faulthandler', '-c', script],
    cwd=source_tree.ROOT,
    capture_output=True,
    text=True,
    check=True,
  )
  return done.stdout


if __name__ == '__main__':
  absltest.main()
