"""Tests that imported T5s compute what transformers computes.

The weights are random; `peer_t5.py` makes them and the outputs in the
environment of benchmarks/peers.sh. Without it the tests are skipped.
"""

import os
import pathlib
import subprocess
import tempfile

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from benchmarks import processes
from realm_tf.exchange import t5
from realm_tf.model import seq2seq
from realm_tf.model import weights

_AGREEMENT = 1e-4
_END = 1
_MAKE = pathlib.Path(__file__).with_name('peer_t5.py')


class T5Test(tf.test.TestCase, parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    made = tempfile.TemporaryDirectory()
    cls.addClassCleanup(made.cleanup)
    cls.directory = made.name
    python = processes.peer_python()
    cls.is_made = (
      python
      and not subprocess.run(
        [python, _MAKE, cls.directory], capture_output=True, check=False
      ).returncode
    )

  def _open(self, version):
    if not self.is_made:
      self.skipTest('benchmarks/peers.sh has not been run.')
    directory = os.path.join(self.directory, version)
    arrays = dict(np.load(os.path.join(directory, 'arrays.npz')))
    config, values = t5.read(directory)
    model = seq2seq.Seq2Seq(config)
    weights.assign(model.variables, values)
    return model, arrays

  @parameterized.parameters('v1_0', 'v1_1')
  def test_logits_and_loss(self, version):
    model, arrays = self._open(version)
    inputs, outputs = (
      tf.constant(arrays[name], tf.int32) for name in ('inputs', 'outputs')
    )
    is_token = arrays['outputs'] != 0
    self.assertAllClose(
      model.logits(inputs, outputs)[is_token],
      arrays['logits'][is_token],
      _AGREEMENT,
      _AGREEMENT,
    )
    log_p = tf.reduce_sum(model.log_likelihood(inputs, outputs))
    self.assertAllClose(-log_p / is_token.sum(), arrays['loss'], _AGREEMENT)

  @parameterized.parameters('v1_0', 'v1_1')
  def test_greedy_outputs(self, version):
    model, arrays = self._open(version)
    inputs = tf.constant(arrays['inputs'], tf.int32)
    length = arrays['greedy'].shape[1]
    greedy = tf.function(lambda ids: model.greedy(ids, length, _END))(inputs)
    self.assertAllEqual(greedy, arrays['greedy'])


if __name__ == '__main__':
  tf.test.main()
