"""Tests for realm_tf.index.block_embeddings."""

import json
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.index import block_embeddings
from realm_tf.records import joining
from tests import source_tree
from tests import tiny
from tests.index import small

_LENGTHS = small.CONFIG.lengths  # 40 wordpieces; 3 from the title.
_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)
_ALL = np.arange(9)


class FullBatchesTest(absltest.TestCase):
  def test_a_full_batch_of_each_length_has_the_wordpieces_of_the_longest(self):
    lengths = tiny.changed(_LENGTHS, block_tokens=70)
    # 8 * 70 wordpieces: 17 blocks of 32, 8 of 64.
    found = block_embeddings.full_batches(lengths, 8)
    self.assertEqual(found, [(17, 32), (8, 64), (8, 70)])


class EmbedBlocksTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = small.open_corpus(
      self.create_tempdir().full_path, _BODY_LENGTHS
    )
    self.batches = []  # A (rows, length, wordpieces of each body) per batch.

  def _count(self, titles, bodies, length):
    """Stands in for the model: counts the wordpieces of title and body."""
    counts = [np.count_nonzero(ids, axis=1) for ids in (titles, bodies)]
    self.batches.append((len(titles), length, counts[1].tolist()))
    return tf.constant(np.stack(counts, axis=1), tf.float32)

  def _embed(self, model, block_ids, batch_size, **kwargs):
    return block_embeddings.embed_blocks(
      block_embeddings.compile_embedding(model, small.SPECIAL_IDS, **kwargs),
      self.table,
      block_ids,
      _LENGTHS,
      batch_size=batch_size,
    )

  @parameterized.parameters(1, 4, 50)
  def test_batches_agree_with_single_blocks(self, batch_size):
    model = small.model()
    # Some blocks in any order; block 1 twice.
    block_ids = np.array([8, 1, 0, 5, 7, 1], np.int64)
    actual = self._embed(model, block_ids, batch_size)
    self.assertEqual((actual.shape, actual.dtype), ((6, 4), np.float32))
    blocks = small.blocks(_BODY_LENGTHS)
    for row, block_id in enumerate(block_ids):
      tokens = joining.pack(
        tf.constant(blocks[block_id].title_ids[None, :3]),
        tf.constant(blocks[block_id].body_ids[None, :]),
        *small.SPECIAL_IDS,
        40,
      )
      self.assertAllClose(
        actual[row : row + 1], model.block_embedder(tokens), atol=1e-5
      )

  def test_longer_batches_come_first_and_have_fewer_blocks(self):
    embeddings = block_embeddings.embed_blocks(
      self._count, self.table, _ALL, _LENGTHS, batch_size=4
    )
    # Titles have 1, 2, 3, 4, 5, 1, 2, 3, 4 wordpieces; at most 3 are kept.
    # With 3 specials the blocks have 6, 65, 7, 19, 36, 17, 12, 42 and 26
    # wordpieces; 65 and 42 are cut to 40. The first batch has 4 blocks of
    # length 40. The others fit into length 32: a batch has 4 * 40 / 32 = 5.
    self.assertEqual([size for size, _, _ in self.batches], [4, 5])
    self.assertEqual([length for _, length, _ in self.batches], [40, 32])
    self.assertEqual(self.batches[1][2], [13, 13, 7, 1, 2])
    self.assertAllEqual(embeddings[:, 0], [1, 2, 3, 3, 3, 1, 2, 3, 3])
    # `pack` cuts bodies; here they are as wide as the batch.
    self.assertAllEqual(
      embeddings[:, 1], [min(length, 40) for length in _BODY_LENGTHS]
    )

  def test_null_blocks_fill_the_last_batch(self):
    block_embeddings.embed_blocks(
      self._count, self.table, _ALL, _LENGTHS, batch_size=5
    )
    self.assertEqual(self.batches[1][2], [13, 7, 1, 2, 0, 0])

  def test_few_blocks_make_a_small_batch(self):
    block_embeddings.embed_blocks(
      self._count, self.table, _ALL[:3], _LENGTHS, batch_size=100
    )
    self.assertEqual([size for size, _, _ in self.batches], [4])

  def test_no_blocks_give_an_empty_array(self):
    embeddings = self._embed(small.model(), np.zeros([0], np.int64), 4)
    self.assertEqual((embeddings.shape, embeddings.dtype), ((0, 4), np.float32))

  def test_progress_counts_every_block_once(self):
    done = []
    block_embeddings.embed_blocks(
      self._count,
      self.table,
      _ALL,
      _LENGTHS,
      batch_size=4,
      progress=done.append,
    )
    self.assertEqual(done, [4, 5])

  def test_a_batch_is_sent_before_the_previous_one_is_read(self):
    events = []

    class _Pending:
      shape = (4, 1)

      def __init__(self, number):
        self.number = number

      def numpy(self):
        events.append(f'read {self.number}')
        return np.zeros([6, 1], np.float32)

    def embed(titles, bodies, length):
      del titles, bodies, length
      number = sum('sent' in event for event in events)
      events.append(f'sent {number}')
      return _Pending(number)

    block_embeddings.embed_blocks(
      embed, self.table, _ALL, _LENGTHS, batch_size=3
    )
    self.assertEqual(events[:3], ['sent 0', 'sent 1', 'read 0'])
    self.assertEqual(events[-1], 'read 2')

  def test_reads_the_current_variables(self):
    model = small.model()
    embed = block_embeddings.compile_embedding(model, small.SPECIAL_IDS)
    arguments = (embed, self.table, _ALL, _LENGTHS)
    before = block_embeddings.embed_blocks(*arguments)
    projection = model.block_embedder.projection.kernel
    projection.assign(3 * projection)
    after = block_embeddings.embed_blocks(*arguments)
    self.assertAllClose(after, 3 * before, rtol=1e-5)

  def test_bfloat16_gives_close_float32_embeddings(self):
    model = small.model()
    exact = self._embed(model, _ALL, 9)
    rounded = self._embed(model, _ALL, 9, dtype='bfloat16')
    self.assertEqual(rounded.dtype, np.float32)
    error = np.abs(rounded - exact).mean() / exact.std()
    self.assertBetween(error, 1e-5, 0.05)

  def test_two_devices_agree_with_one(self):
    output = subprocess.run(
      [sys.executable, '-m', 'tests.index.two_devices'],
      cwd=source_tree.ROOT,
      check=True,
      capture_output=True,
      text=True,
    ).stdout
    report = json.loads(output.splitlines()[-1])
    self.assertEqual((report['replicas'], report['shape']), (2, [9, 4]))
    self.assertGreater(report['size'], 0.01)
    self.assertLess(report['difference'], 1e-5)


if __name__ == '__main__':
  tf.test.main()
