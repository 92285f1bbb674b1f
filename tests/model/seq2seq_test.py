"""Tests for realm_tf.model.seq2seq."""

import math

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import seq2seq

_VOCAB, _END = 5, 1
_V11 = {'activation': 'gated_gelu', 'tied_logits': False}
_VERSIONS = {'v1_0': {}, 'v1_1': _V11}


def _model(**changes):
  """Returns a model with clearly different outputs."""
  tf_keras.utils.set_random_seed(1)
  config = config_lib.Seq2SeqConfig(
    vocab_size=_VOCAB,
    hidden_size=8,
    head_size=4,
    num_layers=2,
    num_decoder_layers=1,
    num_heads=2,
    intermediate_size=8,
    **changes,
  )
  model = seq2seq.Seq2Seq(config)
  rng = np.random.default_rng(2)
  for variable in model.variables:
    variable.assign(rng.normal(size=variable.shape, scale=0.6))
  return model


def _inputs(*rows):
  return tf.constant(rows, tf.int32)


class Seq2SeqTest(tf.test.TestCase, parameterized.TestCase):
  def test_log_likelihood_is_a_sum_over_wordpieces_without_padding(self):
    model = _model()
    for variable in model.variables:
      variable.assign(tf.zeros_like(variable))
    # All logits are 0, so each wordpiece has the probability 1/5.
    found = model.log_likelihood(
      _inputs([2, 3], [4, 0]), _inputs([2, 3, 1], [1, 0, 0])
    )
    self.assertAllClose(found, [-3 * math.log(5), -math.log(5)])

  @parameterized.named_parameters(_VERSIONS.items())
  def test_padding_changes_nothing(self, changes):
    model = _model(**changes)
    alone = model.log_likelihood(_inputs([2, 3]), _inputs([4, 1]))
    padded = model.log_likelihood(
      _inputs([2, 3, 0, 0], [4, 4, 4, 4]), _inputs([4, 1, 0], [2, 2, 1])
    )
    self.assertAllClose(padded[0], alone[0], 1e-5, 1e-5)

  @parameterized.named_parameters(_VERSIONS.items())
  def test_greedy_is_the_argmax_of_all_logits(self, changes):
    model = _model(**changes)
    inputs = _inputs([2, 3, 4, 0], [4, 0, 0, 0], [3, 3, 2, 2])
    found = tf.function(lambda ids: model.greedy(ids, 6, _END))(inputs).numpy()
    best = np.argmax(model.logits(inputs, tf.constant(found)), axis=-1)
    for row, likeliest in zip(found, best, strict=True):
      length = list(row).index(_END) + 1 if _END in row else len(row)
      self.assertAllEqual(row[:length], likeliest[:length])
      self.assertAllEqual(row[length:], np.zeros(len(row) - length))
    self.assertNotAllEqual(found[0], found[1])


if __name__ == '__main__':
  tf.test.main()
