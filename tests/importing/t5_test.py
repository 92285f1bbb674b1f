"""Tests for realm_tf.importing.t5.

Outputs are compared with those of transformers, on random weights, where the
environment of benchmarks/peers.sh is.
"""

import json
import os
import pathlib
import subprocess
import tempfile

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from benchmarks import processes
from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import t5
from realm_tf.modeling import seq2seq
from realm_tf.modeling import weights

_AGREEMENT = 1e-4
_END = 1
_MAKE = pathlib.Path(__file__).with_name('peer_t5.py')


_CONFIG = {
  'model_type': 't5',
  'vocab_size': 7,
  'd_model': 4,
  'd_kv': 2,
  'd_ff': 3,
  'num_layers': 2,
  'num_heads': 2,
  'feed_forward_proj': 'gated-gelu',
  'tie_word_embeddings': False,
}


class ImportTest(tf.test.TestCase, parameterized.TestCase):
  """Directories that the test writes itself."""

  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.model = seq2seq.Seq2Seq(
      config_lib.Seq2SeqConfig(
        vocab_size=7,
        hidden_size=4,
        head_size=2,
        num_layers=2,
        num_heads=2,
        intermediate_size=3,
        activation='gated_gelu',
        tied_logits=False,
      )
    )
    self.arrays = {
      each.name: np.asarray(each.variable).T.copy()
      if each.is_transposed
      else each.variable.numpy()
      for each in self.model.named()
    }

  def _load(self, **changes):
    with open(os.path.join(self.directory, 'config.json'), 'w') as file:
      json.dump({**_CONFIG, **changes}, file)
    path = os.path.join(self.directory, 'model.safetensors')
    weights.write_arrays(self.arrays, path)
    return t5.load(self.directory)

  def test_reads_every_weight(self):
    loaded = self._load()
    for one, other in zip(loaded.named(), self.model.named(), strict=True):
      self.assertAllEqual(one.variable, other.variable, one.name)

  def test_a_weight_that_is_not_there_or_too_much_is_a_mistake(self):
    extra = {'lm_head.bias': np.zeros(7, np.float32)}
    self.arrays |= extra
    with self.assertRaisesRegex(errors.UserError, 'lm_head.bias'):
      self._load()
    self.arrays.pop('lm_head.bias')
    self.arrays['shared.weight'] = np.zeros([7, 5], np.float32)
    with self.assertRaisesRegex(errors.UserError, r'\(7, 5\)'):
      self._load()
    self.arrays.pop('shared.weight')
    self.arrays.pop('lm_head.weight')
    with self.assertRaisesRegex(errors.UserError, 'shared.weight.*none'):
      self._load()

  @parameterized.parameters(
    ({'model_type': 'bart'}, 'model_type'),
    ({'feed_forward_proj': 'gated-silu'}, 'gated-silu'),
    ({'d_model': 'many'}, 'config of a T5'),
  )
  def test_another_model_is_a_mistake(self, changes, said):
    with self.assertRaisesRegex(errors.UserError, said):
      self._load(**changes)


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
    return t5.load(directory), arrays

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
  def test_outputs(self, version):
    model, arrays = self._open(version)
    inputs = tf.constant(arrays['inputs'], tf.int32)
    _, num_beams, length = arrays['beams'].shape
    greedy = tf.function(lambda ids: model.greedy(ids, length, _END))(inputs)
    self.assertAllEqual(greedy, arrays['greedy'])
    ids, scores = tf.function(
      lambda ids: model.beam(ids, length, _END, num_beams)
    )(inputs)
    if version == 'v1_0':
      self.assertAllEqual(ids, arrays['beams'])
      self.assertAllClose(scores, arrays['scores'], _AGREEMENT, _AGREEMENT)
    # transformers drops an end that is not among a step's best 10; here it
    # competes, so that the beam of each rank is as likely or likelier.
    self.assertAllGreaterEqual(scores - arrays['scores'], -_AGREEMENT)


if __name__ == '__main__':
  tf.test.main()
