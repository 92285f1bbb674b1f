"""Tests for realm_tf.training.inverse_cloze_trainer."""

import functools
import math

from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf.training import inverse_cloze_trainer
from tests import forks
from tests import tiny
from tests.training import small_inverse_cloze

_TRAINER = inverse_cloze_trainer.InverseClozeTrainer
_BATCH = {
  'query_ids': np.array([[6], [7]], np.int32),
  'title_ids': np.array([[5, 0], [5, 6]], np.int32),
  'body_ids': np.array([[6, 7, 8], [7, 8, 0]], np.int32),
}
# Four examples with a number and a row of the table. The first chunk of two has
# row 2 twice, the second once.
_ROWS = {
  'x': tf.constant([[1.0], [2.0], [3.0], [4.0]]),
  'row': tf.constant([2, 2, 0, 2]),
}
# dL/de of the queries and of the blocks.
_OF_QUERIES = tf.constant([[1.0], [10.0], [100.0], [1000.0]])
_OF_BLOCKS = tf.constant([[1.0], [2.0], [4.0], [8.0]])


@functools.cache
def _plain():
  with tiny.eagerly():
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

  def test_a_query_moves_off_blocks_that_are_compared(self):
    compared = np.array([[1, 0], [1, 1]], bool)
    queries, logs, _ = _train_a_step({**_BATCH, 'is_compared': compared})
    # The first query has p = 1 and does not move; the second has p = 1/2.
    self.assertAllClose(queries, [[0, 0], [-0.25, 0.25]])
    self.assertAllClose(logs['log_likelihood'], math.log(0.5) / 2)

  @parameterized.parameters(False, True)
  def test_chunks_have_the_plain_loss_and_gradient(self, jit_compile):
    actual = small_inverse_cloze.compute(
      _TRAINER, 0.0, jit_compile, chunk_size=2
    )
    small_inverse_cloze.assert_close(actual, _plain())
    self.assertGreater(actual['loss'], 0.1)

  def test_chunks_have_the_same_dropout_both_times(self):
    with tiny.eagerly():
      expected = small_inverse_cloze.compute(
        small_inverse_cloze.OneTape, 0.5, num_chunks=2
      )
    actual = small_inverse_cloze.compute(_TRAINER, 0.5, chunk_size=4)
    small_inverse_cloze.assert_close(actual, expected)
    self.assertNotAllClose(actual['loss'], _plain()['loss'], rtol=0.01)


class ReplicasTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.results = forks.arrays_of('tests.training.two_replicas')

  @parameterized.parameters(
    ('two replicas', 'one replica'),
    ('chunks, dropout', 'dropout'),  # The same dropout both times.
  )
  def test_cases_are_equal(self, case, expected):
    small_inverse_cloze.assert_close(self.results[case], self.results[expected])

  def test_dropout_changes_the_loss(self):
    dropped, plain = (
      float(self.results[case]['loss']) for case in ('dropout', 'one replica')
    )
    self.assertNotAlmostEqual(dropped, plain, 2)


class _Towers:
  """Embeds a query as w x, a block as its row times 1 + the chunk's number."""

  def __init__(self):
    self.w, self.unused = tf.Variable(5.0), tf.Variable(7.0)
    self.table = tf.Variable([[0.5], [0.6], [0.7]])
    self.variables = [self.w, self.unused, self.table]

  def embed(self, chunk, number):
    factor = 1.0 + tf.cast(number, tf.float32)
    return self.w * chunk['x'], factor * tf.gather(self.table, chunk['row'])


def _compiled(towers, jit_compile=False):
  @tf.function(jit_compile=jit_compile)
  def run(batch):
    chunks = inverse_cloze_trainer.split(batch, 2)
    return (
      inverse_cloze_trainer.embed_chunks(towers.embed, chunks),
      inverse_cloze_trainer.chunk_gradients(
        towers.embed,
        chunks,
        [_OF_QUERIES, _OF_BLOCKS],
        variables=towers.variables,
      ),
    )

  return run


class InverseClozeChunksTest(tf.test.TestCase, parameterized.TestCase):
  @parameterized.parameters(False, True)
  def test_embeds_in_order_and_sums_gradients_by_hand(self, jit_compile):
    run = _compiled(_Towers(), jit_compile)
    (queries, blocks), (of_w, of_unused, of_table) = run(_ROWS)
    self.assertAllClose(queries, [[5.0], [10.0], [15.0], [20.0]])
    self.assertAllClose(blocks, [[0.7], [0.7], [2 * 0.5], [2 * 0.7]])
    self.assertAllClose(of_w, 1.0 + 10 * 2 + 100 * 3 + 1000 * 4)
    # None, not 0: the optimizer must skip the variable.
    self.assertIsNone(of_unused)
    self.assertAllClose(of_table, [[2 * 4.0], [0.0], [1.0 + 2.0 + 2 * 8.0]])

  def test_the_graph_is_as_large_for_many_chunks(self):
    run = _compiled(_Towers())

    def size(number):
      # The cached gradients keep four rows; tracing does not compare shapes.
      batch = {
        'x': tf.TensorSpec([number, 1], tf.float32),
        'row': tf.TensorSpec([number], tf.int32),
      }
      graph = run.get_concrete_function(batch).graph
      return len(graph.as_graph_def().node) + sum(
        len(function.node_def)
        for function in graph.as_graph_def().library.function
      )

    self.assertEqual(size(4), size(64))


if __name__ == '__main__':
  tf.test.main()
