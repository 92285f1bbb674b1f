"""Tests for realm_tf.model.readers."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.model import bert
from realm_tf.model import readers
from tests import tiny
from tests.model import one_hot_encoder

_CONFIG = tiny.bert(
  vocab_size=20, intermediate_size=16, max_positions=16, initializer_range=0.5
)
_CLS, _SEP = 1, 2


def _pairs(questions, bodies, at_most=16):
  return joining.pack_pairs(
    tf.constant(questions, tf.int32),
    tf.constant(bodies, tf.int32),
    _CLS,
    _SEP,
    at_most,
  )


def _slow_scores(layer, states, question_length, body_length):
  """Returns {(s, w): score} of one block by the formula, in NumPy.

  Args:
    layer: The span reader.
    states: States of [CLS] x [SEP] body [SEP], float [L, H].
    question_length: Wordpieces of x.
    body_length: Wordpieces of the body.
  """
  kernel, bias = (v.numpy() for v in layer.projection.variables)
  gamma, beta = (v.numpy() for v in layer.layer_norm.variables)
  score_kernel, score_bias = (v.numpy() for v in layer.score.variables)
  half = kernel.shape[1] // 2
  scores = {}
  for s in range(body_length):
    for w in range(min(layer.max_span_width, body_length - s)):
      first = question_length + 2 + s
      start = (states[first] @ kernel + bias)[:half]
      end = (states[first + w] @ kernel + bias)[half:]
      hidden = np.maximum(start + end, 0)
      hidden = (hidden - hidden.mean()) / np.sqrt(hidden.var() + 1e-3)
      score = (hidden * gamma + beta) @ score_kernel + score_bias
      scores[s, w] = score[0]
  return scores


class NullSpansTest(tf.test.TestCase):
  def test_null_spans_are_scored_from_cls(self):
    layer = readers.SpanReader(
      one_hot_encoder.OneHotEncoder(6), 2, 3, null_spans=True
    )
    tokens = _pairs([[3]], [[[4, 5]]])
    layer(tokens, body_length=2)
    kernel = np.arange(6.0)[:, None]  # [CLS] is 1.
    layer.null_score.set_weights([kernel, np.array([0.5])])
    self.assertAllClose(layer(tokens, body_length=2).null, [[1.5]])

  def test_a_reader_without_null_spans_has_no_weights_for_them(self):
    layer = readers.SpanReader(one_hot_encoder.OneHotEncoder(6), 2, 3)
    null = layer(_pairs([[3]], [[[4], [5]]]), body_length=1).null
    self.assertAllEqual(null, [[interfaces.NO_SCORE] * 2])
    self.assertLen(layer.weights, 6)  # Three layers.


class LinearHeadTest(tf.test.TestCase):
  def _read(self, head):
    layer = readers.SpanReader(
      one_hot_encoder.OneHotEncoder(6), max_span_width=2, head=head
    )
    # Block 0: [CLS] 3 [SEP] 4 5 [SEP]; block 1: [CLS] 3 [SEP] 4 [SEP].
    tokens = _pairs([[3]], [[[4, 5], [4, 0]]])
    layer(tokens, body_length=2)
    kernel = np.zeros([6, 2])
    kernel[_CLS] = np.log([2, 3])  # exp of the null's score: 6.
    kernel[4] = np.log([4, 2])  # Start and end of '4': 8.
    kernel[5] = np.log([3, 1])  # '5': 3; '4 5': 4.
    layer.set_weights([kernel, np.zeros(2)])
    return layer(tokens, body_length=2)

  def test_adds_a_start_and_an_end_logit(self):
    scores = self._read('linear')
    self.assertAllClose(
      tf.exp(scores.spans), [[[[8, 4], [3, 0]], [[8, 0], [0, 0]]]]
    )
    self.assertAllEqual(scores.null, [[interfaces.NO_SCORE] * 2])

  def test_a_null_makes_probabilities_of_each_block(self):
    scores = self._read('linear_null')
    # 8 + 4 + 3 + 6 = 21 in block 0, 8 + 6 = 14 in block 1.
    self.assertAllClose(
      tf.exp(scores.spans),
      [[[[8 / 21, 4 / 21], [3 / 21, 0]], [[8 / 14, 0], [0, 0]]]],
    )
    self.assertAllClose(tf.exp(scores.null), [[6 / 21, 6 / 14]])
    # Eq. 1 with p(z|x) = 1/4, 3/4: a wrong block's null outvotes nothing.
    log_p_z = tf.math.log([1 / 4, 3 / 4])
    joint = tf.exp(scores.spans + log_p_z[None, :, None, None])
    nulls = tf.exp(scores.null + log_p_z)
    self.assertAllClose(tf.reduce_sum(joint) + tf.reduce_sum(nulls), 1.0)
    self.assertAllClose(joint[0, 0, 0, 0], 1 / 4 * 8 / 21)


class SpanReaderTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.encoder = bert.build_encoder(_CONFIG)
    self.layer = readers.SpanReader(self.encoder, 4, 3)
    self.questions = [[3, 4, 0], [5, 0, 0]]
    self.bodies = [
      [[6, 7, 8, 9, 10], [11, 12, 0, 0, 0]],
      [[0, 0, 0, 0, 0], [13, 14, 15, 16, 0]],
    ]
    self.layer(_pairs(self.questions, self.bodies), body_length=5)
    rng = np.random.default_rng(0)  # Replaces biases of 0 and gains of 1.
    for part in (
      self.layer.projection,
      self.layer.layer_norm,
      self.layer.score,
    ):
      part.set_weights([rng.normal(size=v.shape) for v in part.variables])

  # Fewer positions than the longest body, as many, and more.
  @parameterized.parameters(4, 5, 7)
  def test_agrees_with_a_slow_loop(self, body_length):
    actual = self.layer(
      _pairs(self.questions, self.bodies), body_length=body_length
    ).spans.numpy()
    self.assertEqual(actual.shape, (2, 2, body_length, 3))
    for b, k in np.ndindex(2, 2):
      question = [i for i in self.questions[b] if i]
      body = [i for i in self.bodies[b][k] if i]
      joint = [_CLS, *question, _SEP, *body, _SEP]
      states = self.encoder(
        {
          'input_word_ids': tf.constant([joint]),
          'input_mask': tf.ones([1, len(joint)], tf.int32),
          'input_type_ids': tf.constant(
            [[0] * (len(question) + 2) + [1] * (len(body) + 1)]
          ),
        }
      )['sequence_output'].numpy()[0]
      expected = np.full([body_length, 3], interfaces.NO_SCORE)
      scores = _slow_scores(self.layer, states, len(question), len(body))
      for (s, w), score in scores.items():
        if s + w < body_length:
          expected[s, w] = score
      np.testing.assert_allclose(actual[b, k], expected, atol=1e-4)

  def test_cut_body_has_no_span_over_its_end(self):
    # 3 + 2 + 3 of the 5 body wordpieces fit into 8.
    tokens = _pairs([[3, 4]], [[[6, 7, 8, 9, 10]]], at_most=8)
    scores = self.layer(tokens, body_length=5).spans
    exists = interfaces.has_score(scores[0, 0])
    self.assertAllEqual(
      exists,
      [
        [True, True, True],
        [True, True, False],
        [True, False, False],
        [False, False, False],
        [False, False, False],
      ],
    )

  @parameterized.parameters(5, 7)
  def test_no_span_cuts_a_word(self, body_length):
    # Wordpieces 7 and 10 are inside words: 6 7 | 8 | 9 10; 14 | 15 ...
    words = readers.SpanReader(
      self.encoder, 4, 3, is_inner=np.isin(np.arange(20), [7, 10])
    )
    tokens = _pairs(self.questions, self.bodies)
    words(tokens, body_length=body_length)
    words.set_weights(self.layer.get_weights())
    scores = words(tokens, body_length=body_length).spans[0, 0]
    self.assertEqual(
      np.argwhere(interfaces.has_score(scores)).tolist(),
      [[0, 1], [0, 2], [2, 0], [2, 2], [3, 1]],
    )
    exists = interfaces.has_score(scores)
    all_spans = self.layer(tokens, body_length=body_length).spans[0, 0]
    self.assertAllEqual(scores[exists], all_spans[exists])

  def test_word_may_end_with_a_cut_body(self):
    # The body is cut after 8, so 9 is not seen to go on.
    words = readers.SpanReader(self.encoder, 4, 3, is_inner=np.arange(20) == 9)
    tokens = _pairs([[3, 4]], [[[6, 7, 8, 9]]], at_most=8)
    exists = interfaces.has_score(words(tokens, body_length=4).spans)
    self.assertEqual(np.sum(exists), 3 + 2 + 1)


class _TransitionHead(tf_keras.layers.Layer):
  """Row t of the table is p(y) after token t."""

  _LOGITS = np.log(
    [
      [1 / 4, 1 / 4, 1 / 4, 1 / 4],
      [1 / 8, 1 / 8, 1 / 4, 1 / 2],
      [1 / 2, 1 / 4, 1 / 8, 1 / 8],
      [1 / 16, 1 / 16, 3 / 8, 1 / 2],
    ]
  ).astype(np.float32)

  def call(self, states, positions):
    # A constant of 5 is added: without normalization, log p would be wrong.
    return 5 + tf.gather(states, positions, batch_dims=1) @ self._LOGITS


class MaskedTokensTest(tf.test.TestCase):
  def test_reads_the_gold_tokens_at_their_positions(self):
    layer = readers.KnowledgeEncoder(
      one_hot_encoder.OneHotEncoder(4), _TransitionHead()
    )
    # B = 1, K = 3, M = 2: position 2, gold 3, and position 0, gold 2.
    actual = layer(
      tiny.tokens([[[1, 2, 3], [2, 3, 1], [3, 1, 2]]]),
      tf.constant([[2, 0]]),
      tf.constant([[3, 2]]),
    )
    # p(3 | tokens 3, 1, 2) = 1/2, 1/2, 1/8; p(2 | tokens 1, 2, 3) = 1/4, 1/8,
    # 3/8.
    self.assertAllClose(
      tf.exp(actual), [[[1 / 2, 1 / 4], [1 / 2, 1 / 8], [1 / 8, 3 / 8]]]
    )

  def test_lean_replacements_are_used_only_in_training(self):
    lean = lambda tokens, positions, training: {
      'sequence_output': tf.one_hot(
        tf.gather(tokens['input_word_ids'], positions, batch_dims=1), 4
      )
    }
    layer = readers.KnowledgeEncoder(
      one_hot_encoder.OneHotEncoder(4),
      _TransitionHead(),
      lean,
      # p = gold token's number * state's number / 10.
      lambda states, gold: tf.math.log(
        tf.cast(gold * tf.argmax(states, -1, tf.int32), tf.float32) / 10
      ),
    )
    inputs = (
      tiny.tokens([[[1, 2, 3], [2, 3, 1]]]),
      tf.constant([[2, 0]]),
      tf.constant([[3, 2]]),
    )
    self.assertAllClose(
      tf.exp(layer(*inputs, training=True)), [[[0.9, 0.2], [0.3, 0.4]]]
    )
    self.assertAllClose(
      tf.exp(layer(*inputs)), [[[1 / 2, 1 / 4], [1 / 2, 1 / 8]]]
    )


if __name__ == '__main__':
  tf.test.main()
