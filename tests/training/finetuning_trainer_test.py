"""Tests for realm_tf.training.finetuning."""

import functools
import math
import types

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.model import realm_model
from realm_tf.training import finetuning
from tests import tiny
from tests.training import exact_twin


class _FakeModel:
  """A query's embedding [D], scores of spans [K, Lz, W] and null spans [K]."""

  log_temperature = None
  query_variables = realm_model.RealmModel.query_variables

  def __init__(self, query, spans, null=None):
    self.query = tf.Variable(query, dtype=tf.float32)
    self.spans = tf.Variable(spans, dtype=tf.float32)
    null = [interfaces.NO_SCORE] * len(spans) if null is None else null
    self.null = tf.Variable(null, dtype=tf.float32)
    self.query_embedder = types.SimpleNamespace(
      trainable_variables=[self.query]
    )

  @property
  def span_reader(self):
    def read(joint, body_length, training):
      return interfaces.Scores(self.spans[None], self.null[None])

    return _Callable(read, [self.spans, self.null])

  def embed_queries(self, tokens, training):
    return self.query[None]


class _Callable:
  def __init__(self, function, variables):
    self._function, self.trainable_variables = function, variables

  def __call__(self, *args, **kwargs):
    return self._function(*args, **kwargs)


def _divided_query(model, tokens, training):
  return tf.exp(-model.log_temperature) * model.query[None]


def _batch(has_answer=(True, False), is_answer=(True, False), **changes):
  """Two searched blocks, the first of them to read; two spans of width 1."""
  return {
    'question_ids': np.array([[6]], np.int32),
    'block_embeddings': np.array([[[1.0], [0.0]]], np.float32),
    'is_compared': np.ones([1, 2], bool),
    'has_answer': np.array([has_answer]),
    'read_rows': np.array([[0]], np.int32),
    'body_ids': np.array([[[7, 8]]], np.int32),
    'is_answer': np.array(is_answer).reshape([1, -1, 2, 1]),
    **changes,
  }


def _real_model(config):
  return realm_model.RealmModel(
    realm_model.with_vocab_size(config, tiny.TOKENIZER.vocab_size),
    [realm_model.SPAN, realm_model.EMBEDDER],
  )


def _real_batch():
  embeddings = np.random.default_rng(0).normal(size=[1, 2, 4])
  return {
    **_batch(block_embeddings=embeddings.astype(np.float32)),
    'is_answer': np.array([[[[True, False], [True, False]]]]),
  }


def _trainer(model, batch, **changes):
  config = tiny.config(finetuning=changes)
  trainer = finetuning.FinetuningTrainer(
    tf_keras.optimizers.legacy.SGD(1.0),
    model,
    config,
    special_ids=tiny.SPECIAL_IDS,
  )
  trainer.train_dataset = iter([batch])
  return trainer


def _train(model, batch, **changes):
  return _trainer(model, batch, **changes).train(tf.constant(1))


class FinetuningTrainerTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    # f = [log 3, 0], so p(z|x) = [3/4, 1/4]; both spans are equally good.
    self.model = _FakeModel([math.log(3)], [[[0.0], [0.0]]])

  def test_the_compiled_step_equals_the_step_of_exact_encoders(self):
    model = _real_model(tiny.config().model)
    batch = _real_batch()
    exact_twin.assert_same_step(
      self,
      lambda jit: _trainer(model, batch, jit_compile=jit),
      batch,
      [model.span_reader, model.query_embedder],
    )

  def test_rewards_blocks_and_spans_with_the_answer(self):
    logs = _train(self.model, _batch())
    self.assertAllClose(logs['early_update_log_likelihood'], math.log(3 / 4))
    self.assertAllClose(logs['span_log_likelihood'], math.log(1 / 2))
    self.assertAllClose(logs['loss'], -math.log(3 / 8))
    # d/df log p = 1 - 3/4 through the first block, with the embedding 1; the
    # reading term adds the same f to both spans.
    self.assertAllClose(self.model.query, [math.log(3) + 1 / 4])
    self.assertAllClose(self.model.spans, [[[0.5], [-0.5]]])

  def test_a_block_with_an_unknown_label_is_in_no_sum(self):
    # Three blocks, f = [log 3, 0, log 5]; the last block is left out. So p(z|x)
    # is 3/4 and 1/4. All blocks are read; span scores are [log 2, 0] in the
    # first block and 0 in the others: p(y|x) = 6 / (6 + 3 + 1 + 1).
    spans = [[[math.log(2)], [0.0]], [[0.0], [0.0]], [[0.0], [0.0]]]
    embeddings = [[[1.0], [0.0], [math.log(5) / math.log(3)]]]
    batch = _batch(
      (True, False, False),
      (True, False, False, False, False, False),
      block_embeddings=np.array(embeddings, np.float32),
      is_compared=np.array([[True, True, False]]),
      read_rows=np.array([[0, 1, 2]], np.int32),
      body_ids=np.full([1, 3, 2], 7, np.int32),
    )
    model = _FakeModel([math.log(3)], spans)
    logs = _train(model, batch)
    self.assertAllClose(logs['early_update_log_likelihood'], math.log(3 / 4))
    self.assertAllClose(logs['span_log_likelihood'], math.log(6 / 11))
    # d/df of both terms: [1 - 3/4, -1/4, 0] and [1 - 9/11, -2/11, 0], times
    # the embeddings; the second embedding is 0.
    self.assertAllClose(model.query, [math.log(3) + 1 / 4 + 2 / 11])
    self.assertAllClose(
      model.spans - spans,
      [[[5 / 11], [-3 / 11]], [[-1 / 11], [-1 / 11]], [[0.0], [0.0]]],
    )
    self.assertAllEqual(model.spans[2], spans[2])

  def test_a_read_block_has_its_own_retrieval_score(self):
    # The reader reads the block with f = 0, then the block with f = log 3: its
    # two spans have p = 3/8 each.
    spans = [[[0.0], [0.0]], [[0.0], [0.0]]]
    batch = _batch(
      is_answer=(False, False, True, False),
      read_rows=np.array([[1, 0]], np.int32),
      body_ids=np.array([[[7, 8], [7, 8]]], np.int32),
    )
    logs = _train(_FakeModel([math.log(3)], spans), batch)
    self.assertAllClose(logs['span_log_likelihood'], math.log(3 / 8))

  def test_fixed_scores_take_the_place_of_embeddings(self):
    # exp(scores) = [1/3, 1], and the first block has the answer: 1/4.
    batch = _batch(fixed_scores=np.array([[-math.log(3), 0.0]], np.float32))
    del batch['block_embeddings']
    logs = _train(self.model, batch)
    self.assertAllClose(logs['early_update_log_likelihood'], math.log(1 / 4))

  def test_a_frozen_tower_does_not_change(self):
    for is_frozen in (True, False):
      model = _FakeModel([math.log(3)], [[[0.0], [0.0]]])
      model.log_temperature = tf.Variable(0.0)
      model.embed_queries = functools.partial(_divided_query, model)
      _train(model, _batch(), freeze_query_tower=is_frozen)
      # d/df log p = 1/4; f = log 3 / t, so d/d log t of f is -f.
      step = 0.0 if is_frozen else 1 / 4
      self.assertAllClose(model.query, [math.log(3) + step])
      self.assertAllClose(model.log_temperature, -math.log(3) * step)
      self.assertAllClose(model.spans, [[[0.5], [-0.5]]])

  def test_a_frozen_tower_has_no_dropout(self):
    model = _real_model(tiny.with_dropout(tiny.config().model, 0.5))
    batch = _real_batch()
    queries = model.embed_queries(
      joining.pack_longest(tf.constant([[6]]), None, *tiny.SPECIAL_IDS)
    )
    p_z = tf.nn.softmax(tf.linalg.matvec(batch['block_embeddings'], queries))
    expected = math.log(p_z[0, 0])
    for is_frozen in (True, False):
      trainer = _trainer(model, None, freeze_query_tower=is_frozen)
      trainer.seed_dropout(0)
      trainer.optimizer.learning_rate = 0.0
      trainer.train_dataset = iter([batch] * 2)
      for _ in range(2):
        with tiny.eagerly():
          logs = trainer.train(tf.constant(1))
        is_exact = abs(logs['early_update_log_likelihood'] - expected) < 1e-5
        self.assertEqual(is_exact, is_frozen)

  def test_an_impossible_question_has_the_null_spans(self):
    # Two read blocks with p(z|x) = 3/4, 1/4. exp(g) of the spans: 3, 3 in the
    # first, 1, 1 in the second; of the null spans: 3 and 2. Their sum is 13.
    null = [0.0, math.log(2)]
    model = _FakeModel([math.log(3)], np.zeros([2, 2, 1]), null)
    batch = _batch(
      [False] * 2,
      [False] * 4,
      read_rows=np.array([[0, 1]], np.int32),
      body_ids=np.full([1, 2, 2], 7, np.int32),
      is_impossible=np.array([True]),
    )
    logs = _train(model, batch, null_spans=True)
    self.assertAllClose(logs['early_update_log_likelihood'], 0.0)
    self.assertAllClose(logs['span_log_likelihood'], math.log(5 / 13))
    self.assertAllClose(logs['answer_in_read_blocks'], 0.0)
    # p(s|null) - p(s): 3/5 - 3/13 and 2/5 - 2/13; -p(s) for the spans.
    self.assertAllClose(model.null - null, [3 / 5 - 3 / 13, 2 / 5 - 2 / 13])
    self.assertAllClose(
      model.spans[..., 0], [[-3 / 13, -3 / 13], [-1 / 13, -1 / 13]]
    )
    # d/df of the first block; the second one's embedding is 0.
    self.assertAllClose(model.query, [math.log(3) + 3 / 5 - 9 / 13])

  def test_per_block_a_block_without_the_answer_has_its_null(self):
    spans = [[[0.0], [0.0]], [[0.0], [math.log(2)]]]
    model = _FakeModel([math.log(3)], spans, [0.0, math.log(3)])
    batch = _batch(
      is_answer=[True, False, False, False],
      read_rows=np.array([[0, 1]], np.int32),
      is_impossible=np.array([False]),
    )
    logs = _train(model, batch, null_spans=True, objective='per_block')
    # 1 of 1 + 1 + 1 in the first, 3 of 1 + 2 + 3 in the second.
    mean = (math.log(1 / 3) + math.log(3 / 6)) / 2
    self.assertAllClose(logs['span_log_likelihood'], mean)
    # The embedding learns from the early update alone.
    self.assertAllClose(model.query, [math.log(3) + 1 / 4])

  def test_logs_how_often_answers_can_be_and_are_found(self):
    logs = _train(self.model, _batch(is_answer=(True, False)))
    self.assertAllClose(logs['answer_in_searched_blocks'], 100.0)
    self.assertAllClose(logs['answer_in_read_blocks'], 100.0)
    self.assertAllClose(logs['exact_match'], 100.0)  # The first of equals.
    logs = _train(_FakeModel([0.0], [[[0.0], [1.0]]]), _batch())
    self.assertAllClose(logs['exact_match'], 0.0)


if __name__ == '__main__':
  tf.test.main()
