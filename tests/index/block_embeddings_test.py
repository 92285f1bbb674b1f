"""Tests for realm_tf.index.block_embeddings."""

from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.index import block_embeddings
from realm_tf.records import joining
from tests.index import small

_LENGTHS = small.CONFIG.lengths  # 40 wordpieces, 3 of them of the title.
_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)


class EmbedBlocksTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = small.open_corpus(
      self.create_tempdir().full_path, _BODY_LENGTHS
    )

  @parameterized.parameters(1, 2, 4, 9, 50)
  def test_agrees_with_one_block_at_a_time(self, batch_size):
    model = small.model()
    actual = block_embeddings.embed_blocks(
      block_embeddings.compile_embedding(model, small.SPECIAL_IDS),
      self.table,
      _LENGTHS,
      batch_size,
    )
    self.assertEqual((actual.shape, actual.dtype), ((9, 4), np.float32))
    for i, block in enumerate(small.blocks(_BODY_LENGTHS)):
      tokens = joining.pack(
        tf.constant(block.title_ids[None, :3]),
        tf.constant(block.body_ids[None, :]),
        *small.SPECIAL_IDS,
        40,
      )
      self.assertAllClose(
        actual[i : i + 1], model.block_embedder(tokens), atol=1e-5
      )

  def test_batches_are_long_to_short_and_of_one_size(self):
    asked = []

    def embed(titles, bodies, length):
      asked.append((len(titles), length, np.count_nonzero(bodies, axis=1)))
      # The number of wordpieces of title and body.
      counts = [np.count_nonzero(ids, axis=1) for ids in (titles, bodies)]
      return tf.constant(np.stack(counts, axis=1), tf.float32)

    embeddings = block_embeddings.embed_blocks(embed, self.table, _LENGTHS, 4)
    # Titles have 1, 2, 3, 4, 5, 1, 2, 3, 4 wordpieces, of which 3 are kept.
    # With 3 specials the blocks have 6, 65, 7, 19, 36, 17, 12, 42 and 26
    # wordpieces, those of 65 and 42 cut to 40: the longest of the batches of 4
    # have 40, 19 and 6, rounded up by 16, at most 40.
    self.assertEqual([size for size, _, _ in asked], [4, 4, 4])
    self.assertEqual([length for _, length, _ in asked], [40, 32, 16])
    self.assertEqual(asked[1][2].tolist(), [13, 13, 7, 1])
    self.assertEqual(asked[2][2].tolist(), [2, 0, 0, 0])  # Null blocks fill.
    self.assertAllEqual(embeddings[:, 0], [1, 2, 3, 3, 3, 1, 2, 3, 3])
    # `pack` cuts bodies; here they are as wide as the batch is long.
    self.assertAllEqual(
      embeddings[:, 1], [min(length, 40) for length in _BODY_LENGTHS]
    )

  def test_reads_the_current_variables(self):
    model = small.model()
    embed = block_embeddings.compile_embedding(model, small.SPECIAL_IDS)
    before = block_embeddings.embed_blocks(embed, self.table, _LENGTHS, 9)
    projection = model.block_embedder.projection.kernel
    projection.assign(3 * projection)
    after = block_embeddings.embed_blocks(embed, self.table, _LENGTHS, 9)
    self.assertAllClose(after, 3 * before, rtol=1e-5)


if __name__ == '__main__':
  tf.test.main()
