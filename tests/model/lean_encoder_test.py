"""Tests for realm_tf.model.lean_encoder."""

import contextlib
import dataclasses
import os
from unittest import mock

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import dropout
from realm_tf.model import lean_encoder
from realm_tf.model import precision

_CONFIG = config_lib.BertConfig(
  vocab_size=20,
  hidden_size=12,
  num_layers=2,
  num_heads=2,
  intermediate_size=16,
  max_positions=9,
  initializer_range=0.5,
)
# The second text has padding, and both have a second segment.
_IDS = tf.constant([[2, 7, 8, 3, 11, 3], [2, 9, 3, 3, 0, 0]])
_TOKENS = {
  'input_word_ids': _IDS,
  'input_mask': tf.cast(_IDS != 0, tf.int32),
  'input_type_ids': tf.constant([[0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 0]]),
}
_POSITIONS = tf.constant([[4, 0, 4], [1, 2, 0]])


def _encoder(config=_CONFIG):
  tf_keras.utils.set_random_seed(0)
  encoder = bert.build_encoder(config, 'tower_bert')
  for variable in encoder.trainable_variables:  # Biases of 0 hide mistakes.
    variable.assign_add(tf.random.normal(variable.shape, stddev=0.3))
  return encoder


def _gradients(function, variables):
  """Returns a sum of sines of a function's outputs, and its dense gradients."""
  with tf.GradientTape() as tape:
    loss = tf.add_n([tf.reduce_sum(tf.sin(y)) for y in function()])
  gradients = tape.gradient(loss, variables)
  return loss, [tf.convert_to_tensor(gradient) for gradient in gradients]


def _relative_error(near, exact):
  errors = [one - other for one, other in zip(near, exact, strict=True)]
  norms = map(tf.linalg.global_norm, (errors, exact))
  return float(tf.divide(*norms))


class LeanEncoderTest(tf.test.TestCase, parameterized.TestCase):
  def _assert_same_gradients(self, actual, expected):
    for one, other in zip(actual, expected, strict=True):
      # Biases of keys have zero gradients: softmax is invariant to them.
      limit = 1e-5 * max(1.0, float(tf.reduce_max(tf.abs(other))))
      self.assertAllClose(one, other, rtol=0, atol=limit)

  def _gradients_of(self, encoder, dtype, islands=False):
    lean = lean_encoder.LeanEncoder(encoder, _CONFIG, dtype, islands=islands)
    variables = encoder.trainable_variables
    return _gradients(lambda: lean(_TOKENS).values(), variables)[1]

  @parameterized.parameters('gelu_tanh', 'gelu', 'relu')
  def test_agrees_with_the_encoder(self, activation):
    config = dataclasses.replace(_CONFIG, activation=activation)
    encoder = _encoder(config)
    encode = tf.function(
      lean_encoder.LeanEncoder(encoder, config), jit_compile=True
    )
    expected = encoder(_TOKENS)
    outputs = encode(_TOKENS)
    for name in ('sequence_output', 'pooled_output'):
      self.assertAllClose(outputs[name], expected[name], atol=2e-5)
    self.assertAllClose(
      encode(_TOKENS, _POSITIONS)['sequence_output'],
      tf.gather(expected['sequence_output'], _POSITIONS, batch_dims=1),
      atol=2e-5,
    )

  @parameterized.parameters(
    (False, False, False), (False, True, True),
    (True, False, True), (True, True, False),
  )  # fmt: skip
  def test_gradients_agree_with_the_encoder(self, compiled, some, recompute):
    encoder = _encoder()
    lean = lean_encoder.LeanEncoder(encoder, _CONFIG, recompute=recompute)

    def ours():
      outputs = lean(_TOKENS, _POSITIONS if some else None)
      return outputs['sequence_output'], outputs['pooled_output']

    def exact():
      states = encoder(_TOKENS)['sequence_output']
      if some:
        states = tf.gather(states, _POSITIONS, batch_dims=1)
      return states, encoder.pooler_layer(states[:, 0])

    variables = encoder.trainable_variables
    expected_loss, expected = _gradients(exact, variables)
    run = lambda: _gradients(ours, variables)
    loss, gradients = (
      tf.function(run, jit_compile=True)() if compiled else run()
    )
    self.assertAllClose(loss, expected_loss, rtol=1e-5, atol=1e-5)
    self._assert_same_gradients(gradients, expected)

  def _encode_unknown_sizes(self, *dtype):
    encoder = _encoder()
    spec = tf.TensorSpec([None, None], tf.int32)
    return encoder, tf.function(
      lean_encoder.LeanEncoder(encoder, _CONFIG, *dtype),
      input_signature=[{name: spec for name in _TOKENS}],
    )

  def test_sizes_may_be_unknown(self):
    encoder, encode = self._encode_unknown_sizes()
    for length in (3, _TOKENS['input_mask'].shape[1]):
      tokens = {name: ids[:, :length] for name, ids in _TOKENS.items()}
      self.assertAllClose(
        encode(tokens)['sequence_output'],
        encoder(tokens)['sequence_output'],
        atol=2e-5,
      )
    self.assertEqual(encode.experimental_get_tracing_count(), 1)

  def test_sizes_may_be_unknown_on_a_tpu(self):
    with precision.planned_for_tpu():
      encoder, encode = self._encode_unknown_sizes('bfloat16')
      actual = encode(_TOKENS)['sequence_output']
    exact = encoder(_TOKENS)['sequence_output']
    self.assertLess(float(tf.reduce_mean(tf.abs(actual - exact))), 0.05)

  @parameterized.parameters(
    ('float32', 'CPU', True, (False, True)),
    ('float32', 'GPU', True, (False, False)),
    ('bfloat16', 'GPU', True, (False, False)),
    ('bfloat16', 'TPU', False, (False, False)),
    ('bfloat16', 'CPU', False, (True, True)),
  )
  def test_only_cpus_have_islands(self, dtype, device, xla, islands):
    with mock.patch.object(
      tf.config,
      'list_physical_devices',
      side_effect=lambda kind: [None] * (kind == device),
    ):
      self.assertEqual(lean_encoder.prefers_xla(dtype), xla)
      for width, expected in zip((128, 384), islands, strict=True):
        found = lean_encoder.prefers_islands(dtype, width)
        self.assertEqual(found, expected)
        with precision.planned_for_tpu():
          self.assertFalse(lean_encoder.prefers_islands(dtype, width))

  @parameterized.parameters(
    ('v2', False), ('v3', False), ('v4', True), ('v6e', True)
  )
  def test_layers_are_a_loop_where_cores_have_fast_memory(self, kind, loops):
    with precision.planned_for_tpu(kind):
      self.assertEqual(lean_encoder.prefers_loop('bfloat16'), loops)
    with (
      mock.patch.dict(os.environ, TPU_ACCELERATOR_TYPE=f'{kind}-8'),
      mock.patch.object(precision, 'has_tpu', lambda: True),
    ):
      self.assertEqual(lean_encoder.prefers_loop('bfloat16'), loops)

  @parameterized.parameters(False, True)
  def test_bfloat16_and_its_gradients_are_near_and_float32(self, islands):
    encoder = _encoder()
    exact = encoder(_TOKENS)['sequence_output']
    encode = lean_encoder.LeanEncoder(
      encoder, _CONFIG, 'bfloat16', islands=islands
    )
    actual = encode(_TOKENS)['sequence_output']
    self.assertEqual(actual.dtype, tf.float32)
    # With 8 bits of mantissa, each matmul rounds values by up to 0.4 %.
    error = tf.reduce_mean(tf.abs(actual - exact)) / tf.math.reduce_std(exact)
    self.assertBetween(float(error), 1e-4, 0.05)

    exact = self._gradients_of(encoder, 'float32')
    near = self._gradients_of(encoder, 'bfloat16', islands)
    self.assertBetween(_relative_error(near, exact), 1e-4, 0.1)
    self.assertEqual({gradient.dtype for gradient in near}, {tf.float32})


class TrainingTest(tf.test.TestCase, parameterized.TestCase):
  def _states(  # noqa: PLR0913
    self,
    config,
    training=True,
    recompute=False,
    dtype='float32',
    some=False,
    islands=False,
  ):
    encoder = _encoder(config)
    lean = lean_encoder.LeanEncoder(encoder, config, dtype, recompute, islands)
    positions = _POSITIONS if some else None
    seeds = iter(np.arange(1000, dtype=np.int32).reshape([500, 2]))
    with dropout.seeds_from(lambda: tf.constant(next(seeds))):
      return _gradients(
        lambda: lean(_TOKENS, positions, training).values(),
        encoder.trainable_variables,
      )

  @parameterized.parameters('dropout_rate', 'attention_dropout_rate')
  def test_each_rate_drops_something_in_training_only(self, which):
    off = dataclasses.replace(
      _CONFIG, dropout_rate=0.0, attention_dropout_rate=0.0
    )
    config = dataclasses.replace(off, **{which: 0.5})
    exact = self._states(off)[0]
    self.assertAllClose(self._states(config, training=False)[0], exact)
    self.assertNotAllClose(self._states(config)[0], exact)

  @parameterized.parameters(
    (False, False, False), (False, True, True),
    (True, False, True), (True, True, False),
  )  # fmt: skip
  def test_bfloat16_is_near_and_has_the_same_masks(self, some, recompute, tpu):
    # Weights so small that layers do not multiply the rounding: all errors are
    # 0.02 to 0.03. Other masks give 0.8.
    config = dataclasses.replace(_CONFIG, initializer_range=0.2)
    exact = self._states(config, some=some)[1]
    with precision.planned_for_tpu() if tpu else contextlib.nullcontext():
      near = self._states(config, True, recompute, 'bfloat16', some, True)[1]
    self.assertBetween(_relative_error(near, exact), 1e-4, 0.1)

  @parameterized.parameters((False, False), (False, True), (True, False))
  def test_islands_in_float32_are_exact(self, some, recompute):
    exact = self._states(_CONFIG, some=some)
    near = self._states(_CONFIG, True, recompute, 'float32', some, True)
    self.assertAllClose(near[0], exact[0], rtol=1e-5)
    self.assertLess(_relative_error(near[1], exact[1]), 1e-5)


if __name__ == '__main__':
  tf.test.main()
