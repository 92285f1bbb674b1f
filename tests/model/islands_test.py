"""Tests for realm_tf.model.islands, and the head of islands_layer.

They are compared with formulas in float32.
"""

from absl.testing import parameterized
import tensorflow as tf
import tf_keras

from realm_tf import interfaces
from realm_tf.model import bert
from realm_tf.model import dropout
from realm_tf.model import islands
from realm_tf.model import islands_layer
from tests import tiny

_SEED = tf.constant([5, 7])
_RATE = 0.25


def _random(*shape):
  return tf.random.stateless_normal(shape, [len(shape), sum(shape)])


def _half(*shape):
  """Returns random float32 values that bfloat16 can represent."""
  return tf.cast(_random(*shape), tf.bfloat16)


def _formula(query, key, value, bias, seed):
  bias = tf.cast(bias, query.dtype)[:, None, None, :]
  scores = tf.matmul(query, key, transpose_b=True) + bias
  probabilities = tf.nn.softmax(scores)
  if seed is not None:
    probabilities = dropout.drop(probabilities, _RATE, seed)
  return probabilities @ value


def _error(near, exact):
  difference = tf.cast(near, tf.float32) - exact
  return float(tf.linalg.norm(difference) / tf.linalg.norm(exact))


class IslandsTest(tf.test.TestCase, parameterized.TestCase):
  def _assert_near(self, function, formula, *inputs):
    """Compares outputs, and gradients for the inputs, within bfloat16.

    A processor with only AVX2 adds products less exactly. Where the formula in
    bfloat16 is off by 0.01, ours may be off by at most 0.02.
    """
    results = []
    for compute, cast in (
      (function, lambda x: x),
      (formula, lambda x: tf.cast(x, tf.float32)),
      (formula, lambda x: tf.cast(x, tf.bfloat16)),
    ):
      inputs_now = [cast(x) for x in inputs]
      with tf.GradientTape() as tape:
        tape.watch(inputs_now)
        outputs = tf.nest.flatten(compute(*inputs_now))
        loss = tf.add_n(
          [tf.reduce_sum(tf.sin(tf.cast(y, tf.float32))) for y in outputs]
        )
      results.append(outputs + tape.gradient(loss, inputs_now))
    for ours, exact, formulas in zip(*results, strict=True):
      self.assertEqual(ours.shape, exact.shape)
      most = 0.01 if _error(formulas, exact) < 0.01 else 0.02
      self.assertLess(_error(ours, exact), most)

  def test_splits_heads(self):
    def formula(projected, bias):
      one, two = tf.split(projected + bias, 2, axis=-1)
      heads = lambda x: tf.transpose(tf.reshape(x, [2, 5, 3, 4]), [0, 2, 1, 3])
      return heads(one) * 0.5, heads(two)

    split = islands.split_heads(3, (0.5, 1.0))
    self._assert_near(split, formula, _half(2, 5, 24), _random(24))

  @parameterized.parameters(False, True)
  def test_adds_and_normalizes(self, drops):
    seed = [_SEED] if drops else []

    def formula(product, bias, states, scale, offset):
      change = product + bias
      if drops:
        change = dropout.drop(change, _RATE, _SEED)
      mean, variance = tf.nn.moments(states + change, [-1], keepdims=True)
      normal = (states + change - mean) * tf.math.rsqrt(
        variance + bert.LAYER_NORM_EPSILON
      )
      return normal * scale + offset

    norm = islands.residual_norm(_RATE, bert.LAYER_NORM_EPSILON)
    self._assert_near(
      lambda *inputs: norm(*inputs, *map(tf.constant, seed)),
      formula,
      _half(2, 5, 16),
      _random(16),
      2 * _half(2, 5, 16),
      _random(16),
      _random(16),
    )

  @parameterized.parameters(tf.nn.gelu, tf.nn.relu)
  def test_activates(self, activation):
    self._assert_near(
      islands.activated(activation),
      lambda product, bias: activation(product + bias),
      _half(2, 5, 16),
      _random(16),
    )

  @parameterized.parameters((None,), ([5, 7],))
  def test_attends(self, seed):
    seed = None if seed is None else tf.constant(seed)
    # The last two keys of the second text are padding.
    bias = tf.constant([[0.0] * 6, [0.0] * 4 + [interfaces.NO_SCORE] * 2])
    self._assert_near(
      lambda *inputs: islands.attend(*inputs, bias, _RATE, seed),
      lambda *inputs: _formula(*inputs, bias, seed),
      _half(2, 3, 5, 8),
      _half(2, 3, 6, 8),
      _half(2, 3, 6, 8),
    )

  def test_sizes_may_be_unknown(self):
    norm = islands.residual_norm(0.0, bert.LAYER_NORM_EPSILON)
    vectors = [_random(16) for _ in range(3)]

    @tf.function(
      input_signature=[tf.TensorSpec([None, None, 16], tf.bfloat16)] * 2
    )
    def gradient(product, states):
      with tf.GradientTape() as tape:
        tape.watch(states)
        normal = norm(product, vectors[0], states, *vectors[1:])
      return tape.gradient(normal, states)

    for shape in ((2, 5, 16), (3, 4, 16)):
      self.assertEqual(gradient(_half(*shape), _half(*shape)).shape, shape)


_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=12, initializer_range=0.5
)
_GOLD = tf.constant([[3, 19, 3], [0, 7, 4]])  # 0 is padding.


class IslandsHeadTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf_keras.utils.set_random_seed(0)
    encoder = bert.build_encoder(_CONFIG)
    self.head = bert.build_masked_lm_head(encoder, _CONFIG)
    self.head.bias.assign(tf.random.normal([20]))
    self.states = tf.random.normal([2, 3, 8])
    self.lean = islands_layer.IslandsHead(self.head, 'bfloat16')

  def _exact(self):
    logits = self.head(self.states, tf.constant([[0, 1, 2]] * 2))
    log_probs = -tf.nn.sparse_softmax_cross_entropy_with_logits(_GOLD, logits)
    return tf.where(_GOLD > 0, log_probs, 0.0)

  @parameterized.parameters(('bfloat16', 0.03), ('float32', 1e-5))
  def test_log_probs_and_gradients_are_near_the_exact_head(self, dtype, most):
    lean = islands_layer.IslandsHead(self.head, dtype)
    variables = [*self.head.trainable_variables, self.head.embedding_table]
    results = []
    for compute in (lambda: lean(self.states, _GOLD), self._exact):
      with tf.GradientTape() as tape:
        tape.watch(self.states)
        log_probs = compute()
        loss = tf.reduce_sum(tf.sin(log_probs))
      sources = [self.states, *variables]
      results.append([log_probs, *tape.gradient(loss, sources)])
    for ours, exact in zip(*results, strict=True):
      self.assertEqual(ours.dtype, tf.float32)
      error = tf.linalg.norm(ours - exact) / tf.linalg.norm(exact)
      self.assertLess(float(error), most)

  def test_an_impossible_token_has_a_finite_log_prob(self):
    self.head.bias.assign(tf.one_hot(5, 20) * 1000.0)
    log_probs = self.lean(self.states, _GOLD)
    # All tokens but 5 have a probability near e^-1000.
    expected = tf.where(_GOLD > 0, -1000.0, 0.0)
    self.assertAllClose(log_probs, expected, atol=20)

  def test_a_batch_of_padding_is_computed(self):
    log_probs = self.lean(self.states, tf.zeros_like(_GOLD))
    self.assertAllEqual(log_probs, tf.zeros([2, 3]))


if __name__ == '__main__':
  tf.test.main()
