"""Tests for realm_tf.modeling.inference_encoder."""

import dataclasses

from absl.testing import parameterized
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import bert
from realm_tf.modeling import inference_encoder

_CONFIG = config_lib.BertConfig(
  vocab_size=20,
  hidden_size=12,
  num_layers=3,
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


class InferenceEncoderTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)

  def _encoder(self, config=_CONFIG):
    encoder = bert.build_encoder(config, 'tower_bert')
    for variable in encoder.trainable_variables:  # Biases of 0 hide mistakes.
      variable.assign_add(tf.random.normal(variable.shape, stddev=0.3))
    return encoder

  @parameterized.parameters('gelu_tanh', 'gelu', 'relu')
  def test_agrees_with_the_encoder(self, activation):
    config = dataclasses.replace(_CONFIG, activation=activation)
    encoder = self._encoder(config)
    expected = encoder(_TOKENS)
    for cls_only in (False, True):
      encode = inference_encoder.InferenceEncoder(
        encoder, config, cls_only, 'float32'
      )
      outputs = tf.function(encode, jit_compile=True)(_TOKENS)
      states = expected['sequence_output']
      self.assertAllClose(
        outputs['sequence_output'],
        states[:, :1] if cls_only else states,
        atol=2e-5,
      )
      self.assertAllClose(
        outputs['pooled_output'], expected['pooled_output'], atol=2e-5
      )

  def test_reads_the_current_variables(self):
    encoder = self._encoder()
    encode = tf.function(
      inference_encoder.InferenceEncoder(encoder, _CONFIG, True, 'float32')
    )
    before = encode(_TOKENS)['pooled_output']
    for variable in encoder.trainable_variables:
      variable.assign(0.5 * variable)
    after = encode(_TOKENS)['pooled_output']
    self.assertNotAllClose(before, after)
    self.assertAllClose(after, encoder(_TOKENS)['pooled_output'], atol=2e-5)

  def test_bfloat16_is_near_and_comes_out_as_float32(self):
    encoder = self._encoder()
    exact = encoder(_TOKENS)['sequence_output']
    encode = inference_encoder.InferenceEncoder(
      encoder, _CONFIG, False, 'bfloat16'
    )
    actual = encode(_TOKENS)['sequence_output']
    self.assertEqual(actual.dtype, tf.float32)
    # 8 bits of mantissa: each value is rounded by up to 0.4 % a matmul.
    error = tf.reduce_mean(tf.abs(actual - exact)) / tf.math.reduce_std(exact)
    self.assertBetween(float(error), 1e-4, 0.05)


if __name__ == '__main__':
  tf.test.main()
