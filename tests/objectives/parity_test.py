"""Tests that the objectives agree with Hugging Face's REALM, number by number.

tests/testdata/transformers_objectives.json holds what transformers 4.57.6
computed for one small random model: what goes into each loss, the loss (in
float64), and its gradient with respect to the retrieval scores. Agreement is
expected to 1e-4 relative; float32 alone costs up to 2e-5.
"""

import json
import pathlib

import numpy as np
import tensorflow as tf

from realm_tf.objectives import marginal_likelihood
from realm_tf.objectives import span_likelihood

_FILE = (
  pathlib.Path(__file__).parent.parent
  / 'testdata'
  / 'transformers_objectives.json'
)
_RELATIVE = 1e-4


def _float(values):
  return tf.constant(values, tf.float32)


class ParityTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    expected = json.loads(_FILE.read_text())
    self.marginal, self.joint, self.spans = (
      expected['marginal'],
      expected['joint'],
      expected['spans'],
    )

  def _per_token_loss(self, scores):
    mask = _float(self.marginal['token_mask'])
    log_likelihood = marginal_likelihood.per_token_log_likelihood(
      scores, _float(self.marginal['token_log_probs']), mask
    )
    return -tf.reduce_sum(log_likelihood) / tf.reduce_sum(mask)

  def _assert_loss_and_gradient(self, expected):
    scores = _float(expected['retrieval_scores'])
    with tf.GradientTape() as tape:
      tape.watch(scores)
      loss = self._per_token_loss(scores)
    self.assertAllClose(loss, expected['loss'], rtol=_RELATIVE)
    self.assertAllClose(
      tape.gradient(loss, scores),
      expected['retrieval_scores_gradient'],
      rtol=_RELATIVE,
      atol=2e-6,
    )  # The file has six decimals.

  def test_per_token_loss_of_given_scores(self):
    self._assert_loss_and_gradient(self.marginal)

  def test_per_token_loss_of_the_scorers_scores(self):
    self._assert_loss_and_gradient(self.joint)

  def test_early_update_loss_over_searched_blocks(self):
    log_likelihood = span_likelihood.early_update_log_likelihood(
      _float([self.spans['retrieval_scores']]),
      tf.constant([self.spans['has_answer']]),
    )
    self.assertAllClose(
      log_likelihood, [-self.spans['retriever_loss']], rtol=_RELATIVE
    )

  def test_reader_loss_over_spans_of_all_read_blocks(self):
    scores, is_answer = self._read_spans()
    log_likelihood = span_likelihood.span_log_likelihood(
      tf.reshape(scores, [1, -1]), tf.reshape(is_answer, [1, -1])
    )
    self.assertAllClose(
      log_likelihood, [-self.spans['reader_loss']], rtol=_RELATIVE
    )

  def test_best_span_of_all_read_blocks(self):
    scores, _ = self._read_spans()
    block, span = np.unravel_index(np.argmax(scores), scores.shape)
    self.assertEqual(
      (block, span), (self.spans['best_block'], self.spans['best_span'])
    )

  def test_no_answer_is_no_loss(self):
    scores, _ = self._read_spans()
    log_likelihood = span_likelihood.span_log_likelihood(
      tf.reshape(scores, [1, -1]), tf.zeros([1, tf.size(scores)], tf.bool)
    )
    self.assertAllEqual(log_likelihood, [0.0])

  def _read_spans(self):
    """Returns g(s) with retrieval scores and what is right, [3, S] each."""
    scores = _float(self.spans['span_scores'])
    retrieval = _float(self.spans['retrieval_scores'])[: scores.shape[0]]
    return (
      scores + retrieval[:, None],
      tf.cast(self.spans['is_answer'], tf.bool),
    )


if __name__ == '__main__':
  tf.test.main()
