"""Tests for realm_tf.training.pretraining_trainer."""

import collections
import dataclasses
import math

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.model import realm_model
from realm_tf.training import pretraining_trainer
from tests import tiny
from tests.training import exact_twin


class _FakeModel:
  """One query with f(x,z) [K] as weights and p(y_j|z,x) [K, M] as constants."""

  def __init__(self, scores, token_probs):
    self.scores = tf.Variable(scores, dtype=tf.float32)
    self.trainable_variables = [self.scores]
    self.read = []
    self._next = collections.Counter()
    self._token_log_probs = tf.math.log(tf.constant(token_probs))[None]

  with_null_bias = staticmethod(lambda scores: scores)

  def embed_queries(self, tokens, training):
    return tf.ones([1, 1])

  def embed_blocks(self, tokens, training):
    return self.scores[None, self._which('embedded', tokens), None]

  def knowledge_encoder(self, tokens, positions, gold_ids, training):
    self.read.append((tokens['input_word_ids'], positions))
    return self._token_log_probs[:, self._which('read', tokens)]

  def _which(self, what, tokens):
    """Returns the next of the K blocks: they come in order, in parts."""
    start = self._next[what] % self.scores.shape[0]
    self._next[what] = start + tokens['input_word_ids'].shape[1]
    return slice(start, self._next[what])


def _real_model(config=None):
  return realm_model.RealmModel(
    realm_model.with_vocab_size(
      config or tiny.config().model, tiny.TOKENIZER.vocab_size
    ),
    [realm_model.MASKED_LM, realm_model.EMBEDDER],
  )


def _batch(num_candidates, num_masked):
  query = np.array([[6, tiny.TOKENIZER.mask_id]], np.int32)
  titles = np.full([1, num_candidates, 1], 8, np.int32)
  bodies = np.full([1, num_candidates, 2], 9, np.int32)
  titles[:, 0] = bodies[:, 0] = 0  # The null block.
  return {
    'query_ids': query,
    'masked_positions': np.ones([1, num_masked], np.int32),
    'gold_ids': np.full([1, num_masked], 7, np.int32),
    'token_mask': np.ones([1, num_masked], np.float32),
    'title_ids': titles,
    'body_ids': bodies,
    'is_real': np.ones([1, num_candidates], bool),
  }


def _trainer(model, batch, **changes):
  config = tiny.config(pretraining=changes)
  trainer = pretraining_trainer.PretrainingTrainer(
    tf_keras.optimizers.legacy.SGD(1.0),
    model,
    config,
    special_ids=tiny.SPECIAL_IDS,
  )
  trainer.train_dataset = iter([batch])
  return trainer


class PretrainingTrainerTest(tf.test.TestCase):
  def test_scores_move_by_the_gradient_of_appendix_a(self):
    model = _FakeModel([2.0, 1.0, 0.0], [[0.6], [0.3], [0.3]])
    _trainer(model, _batch(3, 1)).train(tf.constant(1))
    # p(z|x) = [0.6652, 0.2447, 0.0900], so p(y|x) = 0.4996, and
    # r(z) = (p(y|z,x) / p(y|x) - 1) p(z|x).
    self.assertAllClose(
      model.scores - [2.0, 1.0, 0.0], [0.1338, -0.0978, -0.0360], atol=2e-4
    )

  def test_a_retriever_that_does_not_learn_has_no_dropout(self):
    config = tiny.with_dropout(tiny.config().model, 0.5)
    model = _real_model(dataclasses.replace(config, recompute_activations=True))
    batch = _batch(3, 1)
    trainer = _trainer(
      model,
      batch,
      optimizer=config_lib.OptimizerConfig(embedder_rate_scale=0.0),
    )
    trainer.seed_dropout(0)
    trainer.optimizer.learning_rate = 0.0
    trainer.train_dataset = iter([batch] * 2)
    exact, _ = trainer.score({k: tf.constant(v) for k, v in batch.items()})
    with tiny.eagerly():
      logs = [trainer.train(tf.constant(1)) for _ in range(2)]
    p_z = tf.nn.softmax(exact)
    entropy = -tf.reduce_sum(p_z * tf.math.log(p_z))
    self.assertAllClose([each['entropy'] for each in logs], [entropy] * 2)
    # The reader has dropout.
    self.assertNotAllClose(*(each['log_likelihood'] for each in logs))

  def test_objectives_of_paper_and_release(self):
    for objective, p in (('per_query', 5 / 32), ('per_token', 3 / 8)):
      model = _FakeModel([0.0, 0.0], [[0.5, 0.5], [0.25, 0.25]])
      trainer = _trainer(model, _batch(2, 2), objective=objective)
      logs = trainer.train(tf.constant(1))
      # The release takes the mean over tokens, p = 3/8 each.
      self.assertAllClose(logs['loss'], -math.log(p), msg=objective)

  def test_padding_does_not_count(self):
    batch = _batch(3, 1)
    batch['is_real'][0, 2] = False
    model = _FakeModel([0.0, 0.0, 9.0], [[0.2], [0.6], [0.9]])
    _trainer(model, batch).train(tf.constant(1))
    # p(y|x) = 0.4: r = (0.2 / 0.4 - 1) / 2, (0.6 / 0.4 - 1) / 2.
    self.assertAllClose(model.scores, [-0.25, 0.25, 9.0])

  def test_logs_both_retrieval_utilities(self):
    model = _FakeModel([0.0, 0.0], [[0.1], [0.5]])
    logs = _trainer(model, _batch(2, 1)).train(tf.constant(1))
    # p(y|x) = 0.3. Block utilities: 0 for the null block, log 5 for the other.
    self.assertAllClose(logs['marginal_retrieval_utility'], math.log(3))
    self.assertAllClose(logs['block_retrieval_utility'], math.log(5) / 2)
    self.assertAllClose(logs['p_null'], 0.5)
    self.assertAllClose(logs['entropy'], math.log(2))

  def test_reads_the_masked_positions_after_cls(self):
    model = _FakeModel([0.0, 0.0], [[1.0], [1.0]])
    _trainer(model, _batch(2, 1)).score(
      {name: tf.constant(value) for name, value in _batch(2, 1).items()}
    )
    cls_id, sep_id = tiny.SPECIAL_IDS
    read = [cls_id, 6, tiny.TOKENIZER.mask_id, sep_id]
    (null, null_positions), (tokens, positions) = model.read
    self.assertAllEqual(null[0, 0], [*read, sep_id, 0])
    # [CLS] x [SEP] body [SEP]; titles are for the embedder only.
    self.assertAllEqual(tokens[0, 0], [*read, 9, 9, sep_id])
    self.assertAllEqual(null_positions, [[2]])
    self.assertAllEqual(positions, [[2]])

  def test_null_block_apart_is_the_null_block_among_others(self):
    model = _real_model()
    batch = {
      name: tf.constant(np.repeat(value, 2, axis=0))
      for name, value in _batch(3, 1).items()
    }
    query_ids = tf.constant([[6, tiny.TOKENIZER.mask_id], [7, 6]])
    batch.update(query_ids=query_ids)
    scores, token_log_probs = _trainer(model, batch).score(batch)
    joint = joining.pack_pairs(
      batch['query_ids'], batch['body_ids'], *tiny.SPECIAL_IDS, 20
    )
    expected = model.knowledge_encoder(
      joint, batch['masked_positions'] + 1, batch['gold_ids']
    )
    self.assertAllClose(token_log_probs, expected, atol=1e-5)
    queries = model.embed_queries(
      joining.pack(batch['query_ids'], None, *tiny.SPECIAL_IDS, 8)
    )
    blocks = model.embed_blocks(
      joining.pack(batch['title_ids'], batch['body_ids'], *tiny.SPECIAL_IDS, 12)
    )
    self.assertAllClose(
      scores, tf.einsum('bd,bkd->bk', queries, blocks), atol=1e-5
    )

  def test_the_null_block_s_bias_learns_by_the_gradient_of_appendix_a(self):
    embedder = {'normalize': True, 'score_scale': 5.0}
    model = _real_model(tiny.config(model={'embedder': embedder}).model)
    for variable in model.trainable_variables:
      if len(variable.shape) > 1:  # So that blocks differ.
        variable.assign(variable * 20.0)
    batch = _batch(3, 1)
    batch['body_ids'][0, 2] = 7
    trainer = _trainer(model, batch)
    tensors = {name: tf.constant(value) for name, value in batch.items()}
    before, _ = trainer.score(tensors)
    model.null_bias.assign(2.0)
    scores, token_log_probs = trainer.score(tensors)
    self.assertAllClose(scores - before, [[2.0, 0.0, 0.0]])
    p_z = tf.nn.softmax(scores[0]).numpy()
    p_y = np.exp(token_log_probs[0, :, 0])
    # r(z) = (p(y|z,x) / p(y|x) - 1) p(z|x). As f = 5 cos / t without the bias,
    # the gradient for -log t is the sum of r(z) f(x,z).
    r = (p_y / np.sum(p_z * p_y) - 1) * p_z
    self.assertGreater(abs(r[0]), 1e-4)
    with tiny.eagerly():
      logs = trainer.train(tf.constant(1))
    self.assertAllClose(logs['p_null'], p_z[0])
    self.assertAllClose(model.null_bias, 2.0 + r[0], atol=1e-6)
    self.assertAllClose(
      model.log_temperature, -np.sum(r * before[0]), atol=1e-6
    )

  def test_sentences_of_candidates_add_a_weighted_loss(self):
    model, batch = _real_model(), _batch(3, 1)
    batch['candidate_ids'] = np.array([[-1, 4, 5]], np.int32)
    batch['body_ids'][0, 2] = 7
    batch['cloze_ids'] = np.array([[[9, 0], [7, 7]]], np.int32)
    tensors = {name: tf.constant(value) for name, value in batch.items()}
    alone, _ = _trainer(model, batch).loss_and_logs(tensors)
    both, logs = _trainer(model, batch, inverse_cloze_weight=0.5).loss_and_logs(
      tensors
    )
    queries = model.embed_queries(
      joining.pack(tensors['cloze_ids'][0], None, *tiny.SPECIAL_IDS, 8)
    )
    blocks = model.block_embedder(
      joining.pack(
        tensors['title_ids'], tensors['body_ids'], *tiny.SPECIAL_IDS, 12
      )
    )[0, 1:]
    scores = tf.matmul(queries, blocks, transpose_b=True)
    expected = -tf.linalg.diag_part(tf.nn.log_softmax(scores))
    self.assertAllClose(logs['cloze_loss'], expected, atol=1e-5)
    self.assertAllClose(both - alone, 0.5 * tf.reduce_mean(expected), atol=1e-5)

  def test_the_compiled_step_equals_the_step_of_exact_encoders(self):
    model = _real_model()
    batch = _batch(3, 2)
    exact_twin.assert_same_step(
      self,
      lambda jit: _trainer(model, batch, jit_compile=jit),
      batch,
      [model.knowledge_encoder, model.query_embedder, model.block_embedder],
    )

  def test_recurring_spans_have_a_uniform_retriever(self):
    model = _FakeModel([5.0, 0.0], [[0.5], [0.5]])
    trainer = _trainer(model, _batch(2, 1), candidates='recurring_span')
    trainer.train(tf.constant(1))
    self.assertAllClose(model.scores, [5.0, 0.0])


class ClozeLossTest(tf.test.TestCase):
  def test_matches_hand_computation(self):
    # The blocks' scores are log 1, log 2, log 1 and log 5.
    queries = tf.ones([4, 1])
    blocks = tf.math.log([[1.0], [2.0], [1.0], [5.0]])
    ids = tf.constant([3, 7, 3, -1])
    losses = pretraining_trainer.cloze_loss(
      queries, blocks, ids, has_query=tf.constant([True, True, True, False])
    )
    # 1 / (1 + 2): not the copy of block 3 nor padding; then 2 / (2 + 1 + 1).
    self.assertAllClose(tf.exp(-losses[:3]), [1 / 3, 2 / 4, 1 / 3], rtol=1e-5)
    self.assertEqual(losses[3], 0.0)


if __name__ == '__main__':
  tf.test.main()
