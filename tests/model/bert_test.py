"""Tests for realm_tf.model.bert."""

from absl.testing import parameterized
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.model import bert
from tests import tiny

_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)


def _dense(gradients):
  return [tf.convert_to_tensor(gradient) for gradient in gradients]


class BertTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.encoder = bert.build_encoder(_CONFIG)

  def test_cls_only_gives_the_same_cls(self):
    whole, short = (
      bert.build_encoder(_CONFIG, cls_only=cls_only)
      for cls_only in (False, True)
    )
    self.assertEqual(
      [v.name for v in whole.variables], [v.name for v in short.variables]
    )
    short.set_weights(whole.get_weights())
    tokens = tiny.tokens([[2, 7, 8, 3], [2, 9, 3, 0]])
    values, gradients = [], []
    for encoder in (whole, short):
      with tf.GradientTape() as tape:
        outputs = encoder(tokens)
        cls = outputs['sequence_output'][:, 0]
        loss = tf.reduce_sum(cls**3) + tf.reduce_sum(outputs['pooled_output'])
      values.append(cls)
      gradients.append(tape.gradient(loss, encoder.trainable_variables))
    self.assertEqual(short(tokens)['sequence_output'].shape, [2, 1, 8])
    self.assertAllClose(*values, rtol=1e-6, atol=1e-6)
    for ours, expected in zip(*map(_dense, gradients), strict=True):
      self.assertAllClose(ours, expected, rtol=1e-5, atol=1e-5)

  def test_vocabulary_size_is_required(self):
    with self.assertRaisesRegex(ValueError, 'vocab_size'):
      bert.build_encoder(config_lib.BertConfig())

  @parameterized.named_parameters(
    # At 1: 1/2 (1 + tanh(sqrt(2/pi) (1 + 0.044715))) = 0.841192, and
    # 1/2 (1 + erf(1 / sqrt(2))) = 0.841345.
    ('as_released', 'gelu_tanh', 0.841192),
    ('exact', 'gelu', 0.841345),
  )
  def test_activation(self, name, expected):
    config = config_lib.BertConfig(activation=name)
    self.assertAllClose(
      bert.activation(config)(tf.constant(1.0)), expected, rtol=1e-6
    )


class MaskedLmHeadTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.encoder = bert.build_encoder(_CONFIG)
    self.head = bert.build_masked_lm_head(self.encoder, _CONFIG)
    self.states = tf.random.normal([2, 6, 8])

  def test_head_is_tied_to_the_word_embeddings(self):
    positions = tf.constant([[0], [0]])
    before = self.head(self.states, positions)  # [B, 1, V]
    table = self.encoder.get_embedding_table()
    values = table.numpy()
    values[7] *= 2
    table.assign(values)
    # The output bias is 0 at first, so word 7's logit w_7 . h doubles.
    self.assertAllClose(
      self.head(self.states, positions),
      before * (1 + tf.one_hot(7, 20)),
      atol=1e-5,
    )


if __name__ == '__main__':
  tf.test.main()
