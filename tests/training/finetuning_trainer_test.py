"""Tests for realm_tf.training.finetuning_trainer."""

import math
import types

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.training import finetuning_trainer
from tests import tiny


class _FakeModel:
  """The query's embedding and the span scores are weights of one question.

  Args:
    query: [D].
    spans: [K, Lz, W].
  """

  def __init__(self, query, spans):
    self.query = tf.Variable(query, dtype=tf.float32)
    self.spans = tf.Variable(spans, dtype=tf.float32)
    self.query_embedder = types.SimpleNamespace(
      trainable_variables=[self.query]
    )

  @property
  def span_reader(self):
    reader = lambda joint, body_length, training: self.spans[None]
    return _Callable(reader, [self.spans])

  def embed_queries(self, tokens, training):
    return self.query[None]


class _Callable:
  def __init__(self, function, variables):
    self._function, self.trainable_variables = function, variables

  def __call__(self, *args, **kwargs):
    return self._function(*args, **kwargs)


def _batch(has_answer=(True, False), is_answer=(True, False), **changes):
  """Two searched blocks, of which the first is read; two spans of width 1."""
  return {
    'question_ids': np.array([[6]], np.int32),
    'block_embeddings': np.array([[[1.0], [0.0]]], np.float32),
    'is_found': np.ones([1, 2], bool),
    'has_answer': np.array([has_answer]),
    'read_rows': np.array([[0]], np.int32),
    'body_ids': np.array([[[7, 8]]], np.int32),
    'is_answer': np.array(is_answer).reshape([1, -1, 2, 1]),
    **changes,
  }


def _train(model, batch):
  trainer = finetuning_trainer.FinetuningTrainer(
    iter([batch]),
    tf_keras.optimizers.legacy.SGD(1.0),
    model,
    tiny.config().finetuning,
    tiny.SPECIAL_IDS,
  )
  return trainer.train(tf.constant(1))


class FinetuningTrainerTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    # f = [log 3, 0], so p(z|x) = [3/4, 1/4]; both spans are equally good.
    self.model = _FakeModel([math.log(3)], [[[0.0], [0.0]]])

  def test_rewards_blocks_and_spans_with_the_answer(self):
    logs = _train(self.model, _batch())
    self.assertAllClose(logs['early_update_log_likelihood'], math.log(3 / 4))
    self.assertAllClose(logs['span_log_likelihood'], math.log(1 / 2))
    self.assertAllClose(logs['loss'], -math.log(3 / 8))
    # d/df log p = 1 - 3/4 through the first block, whose embedding is 1; the
    # reading term adds f to both spans alike.
    self.assertAllClose(self.model.query, [math.log(3) + 1 / 4])
    self.assertAllClose(self.model.spans, [[[0.5], [-0.5]]])

  def test_a_term_without_a_positive_is_zero(self):
    logs = _train(self.model, _batch((False, False), (False, False)))
    self.assertAllClose(logs['loss'], 0.0)
    self.assertAllClose(self.model.query, [math.log(3)])
    self.assertAllClose(self.model.spans, [[[0.0], [0.0]]])

  def test_the_other_term_goes_on(self):
    logs = _train(self.model, _batch(is_answer=(False, False)))
    self.assertAllClose(logs['loss'], -math.log(3 / 4))
    self.assertAllClose(self.model.spans, [[[0.0], [0.0]]])

  def test_a_block_that_was_not_found_counts_nothing(self):
    found = np.array([[True, False]])
    logs = _train(self.model, _batch(is_found=found))
    self.assertAllClose(logs['early_update_log_likelihood'], 0.0)

  def test_a_read_block_has_its_own_retrieval_score(self):
    # Reading is beside f = [log 3, 0] of the blocks in the order of reading:
    # of four spans the two of the second block read have 3/8 each.
    spans = [[[0.0], [0.0]], [[0.0], [0.0]]]
    batch = _batch(
      is_answer=(False, False, True, False),
      read_rows=np.array([[1, 0]], np.int32),
      body_ids=np.array([[[7, 8], [7, 8]]], np.int32),
    )
    logs = _train(_FakeModel([math.log(3)], spans), batch)
    self.assertAllClose(logs['span_log_likelihood'], math.log(3 / 8))

  def test_fixed_scores_take_the_place_of_embeddings(self):
    # exp of them is [1/3, 1], and the first block has the answer: 1/4.
    batch = _batch(fixed_scores=np.array([[-math.log(3), 0.0]], np.float32))
    del batch['block_embeddings']
    logs = _train(self.model, batch)
    self.assertAllClose(logs['early_update_log_likelihood'], math.log(1 / 4))

  def test_logs_how_often_answers_can_be_and_are_found(self):
    logs = _train(self.model, _batch(is_answer=(True, False)))
    self.assertAllClose(logs['answer_in_searched_blocks'], 100.0)
    self.assertAllClose(logs['answer_in_read_blocks'], 100.0)
    self.assertAllClose(logs['exact_match'], 100.0)  # The first of equals.
    logs = _train(_FakeModel([0.0], [[[0.0], [1.0]]]), _batch())
    self.assertAllClose(logs['exact_match'], 0.0)


if __name__ == '__main__':
  tf.test.main()
