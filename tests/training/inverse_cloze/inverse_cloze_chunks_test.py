"""Tests for realm_tf.training.inverse_cloze.inverse_cloze_chunks."""

from absl.testing import parameterized
import tensorflow as tf

from realm_tf.training.inverse_cloze import inverse_cloze_chunks

# Four examples with a number and a row of the table. The first chunk of two has
# row 2 twice, the second once.
_BATCH = {
  'x': tf.constant([[1.0], [2.0], [3.0], [4.0]]),
  'row': tf.constant([2, 2, 0, 2]),
}
# dL/de of the queries and of the blocks.
_OF_QUERIES = tf.constant([[1.0], [10.0], [100.0], [1000.0]])
_OF_BLOCKS = tf.constant([[1.0], [2.0], [4.0], [8.0]])


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
    chunks = inverse_cloze_chunks.split(batch, 2)
    return (
      inverse_cloze_chunks.embeddings(towers.embed, chunks),
      inverse_cloze_chunks.gradients(
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
    (queries, blocks), (of_w, of_unused, of_table) = run(_BATCH)
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
