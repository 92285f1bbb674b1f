"""Tests for realm_tf.training.inverse_cloze.inverse_cloze_trainer."""

import functools
import math

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.training.inverse_cloze import inverse_cloze_trainer
from tests import tiny
from tests.training.inverse_cloze import small_inverse_cloze

_TRAINER = inverse_cloze_trainer.InverseClozeTrainer
_BATCH = {
  'query_ids': np.array([[6], [7]], np.int32),
  'title_ids': np.array([[5, 0], [5, 6]], np.int32),
  'body_ids': np.array([[6, 7, 8], [7, 8, 0]], np.int32),
}


@functools.cache
def _plain():
  return small_inverse_cloze.compute(_TRAINER, 0.0)


class _FakeModel:
  """Embeds blocks as unit vectors, so scores are the query weights."""

  def __init__(self):
    self.queries = tf.Variable(tf.zeros([2, 2]))
    self.trainable_variables = [self.queries]
    self.block_tokens = None

  def embed_queries(self, tokens, training):
    return self.queries

  def embed_blocks(self, tokens, training):
    self.block_tokens = tokens['input_word_ids'].shape
    return tf.eye(2)


def _train_a_step(batch):
  """Returns the queries after a step of SGD with rate 1, logs and model."""
  model = _FakeModel()
  trainer = _TRAINER(
    tf_keras.optimizers.legacy.SGD(1.0),
    model,
    tiny.config().inverse_cloze,
    lengths=tiny.config().lengths,
    special_ids=tiny.SPECIAL_IDS,
  )
  trainer.train_dataset = iter([batch])
  logs = trainer.train(tf.constant(1))
  return model.queries, logs, model


class InverseClozeTrainerTest(tf.test.TestCase, parameterized.TestCase):
  def test_a_query_moves_to_its_own_block_and_off_the_others(self):
    queries, logs, model = _train_a_step(_BATCH)
    # All scores are 0, so p = 1/2; the gradient of the mean is (1 - p) / 2 for
    # the own block and -p / 2 for the other.
    self.assertAllClose(queries, [[0.25, -0.25], [-0.25, 0.25]])
    self.assertAllClose(logs['log_likelihood'], math.log(0.5))
    # [CLS] title [SEP] body [SEP]: the title has 2 wordpieces, the body 3.
    self.assertEqual(model.block_tokens, [2, 3 + 2 + 3])

  def test_a_query_moves_off_hard_negatives_that_are_compared(self):
    hard = {f'hard_{name}': _BATCH[name] for name in ('title_ids', 'body_ids')}
    compared = np.array([[1, 1, 0, 1], [1, 1, 1, 0]], bool)
    queries, logs, _ = _train_a_step(
      {**_BATCH, **hard, 'is_compared': compared}
    )
    # p = 1/3: each query sees its own vector once and the other vector twice.
    self.assertAllClose(queries, [[1 / 3, -1 / 3], [-1 / 3, 1 / 3]])
    self.assertAllClose(logs['log_likelihood'], math.log(1 / 3))

  @parameterized.parameters(False, True)
  def test_chunks_have_the_plain_loss_and_gradient(self, jit_compile):
    actual = small_inverse_cloze.compute(
      _TRAINER, 0.0, jit_compile, chunk_size=2
    )
    small_inverse_cloze.assert_close(actual, _plain())
    self.assertGreater(actual['loss'], 0.1)

  def test_chunks_have_the_same_dropout_both_times(self):
    expected = small_inverse_cloze.compute(
      small_inverse_cloze.OneTape, 0.5, num_chunks=2
    )
    actual = small_inverse_cloze.compute(_TRAINER, 0.5, chunk_size=4)
    small_inverse_cloze.assert_close(actual, expected)
    self.assertNotAllClose(actual['loss'], _plain()['loss'], rtol=0.01)


if __name__ == '__main__':
  tf.test.main()
