"""Tests for realm_tf.index.embedding."""

import importlib.util
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.index import embedding
from realm_tf.model import realm_model
from tests import tiny
from tests.index import small

_LENGTHS = small.CONFIG.lengths  # 40 wordpieces; 3 from the title.
_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)
_ALL = np.arange(9)
_QUERY_TOKENS = 6


class FullBatchesTest(absltest.TestCase):
  def test_a_full_batch_of_each_length_has_the_wordpieces_of_the_longest(self):
    lengths = tiny.changed(_LENGTHS, block_tokens=70)
    # 8 * 70 wordpieces: 17 blocks of 32, 8 of 64.
    found = embedding.full_batches(lengths, 8)
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
    return embedding.embed_blocks(
      embedding.compile_blocks(model, small.SPECIAL_IDS, **kwargs),
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
    done = []
    embeddings = embedding.embed_blocks(
      self._count,
      self.table,
      _ALL,
      _LENGTHS,
      batch_size=4,
      progress=done.append,
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
    self.assertEqual(done, [4, 5])

  # Null blocks fill the last batch; a few blocks get a small one.
  @parameterized.parameters(
    (9, 5, [5, 6], [13, 7, 1, 2, 0, 0]), (3, 100, [4], [40, 1, 2, 0])
  )
  def test_null_blocks_fill_a_batch(self, number, size, sizes, last):
    embedding.embed_blocks(
      self._count, self.table, _ALL[:number], _LENGTHS, batch_size=size
    )
    self.assertEqual([size for size, _, _ in self.batches], sizes)
    self.assertEqual(self.batches[-1][2], last)

  def test_no_blocks_give_an_empty_array(self):
    embeddings = self._embed(small.model(), np.zeros([0], np.int64), 4)
    self.assertEqual((embeddings.shape, embeddings.dtype), ((0, 4), np.float32))

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

    embedding.embed_blocks(embed, self.table, _ALL, _LENGTHS, batch_size=3)
    self.assertEqual(events[:3], ['sent 0', 'sent 1', 'read 0'])
    self.assertEqual(events[-1], 'read 2')

  def test_bfloat16_gives_close_float32_embeddings(self):
    model = small.model()
    exact = self._embed(model, _ALL, 9)
    rounded = self._embed(model, _ALL, 9, dtype='bfloat16')
    self.assertEqual(rounded.dtype, np.float32)
    error = np.abs(rounded - exact).mean() / exact.std()
    self.assertBetween(error, 1e-5, 0.05)


class CompileQueriesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    config = tiny.changed(small.CONFIG.model, embedder={'score_scale': 3.0})
    self.model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    self.embed = embedding.compile_queries(
      self.model, _QUERY_TOKENS, small.SPECIAL_IDS
    )

  def test_embeds_cls_query_sep_with_the_current_query_tower(self):
    ids = np.array([[7, 8], [9, 0]])
    tokens = joining.pack(tf.constant(ids, tf.int32), None, 2, 3, 4)
    expected = 3 * self.model.query_embedder(tokens)
    self.assertAllClose(self.embed(ids), expected)
    kernel = self.model.query_embedder.projection.kernel
    kernel.assign(2 * kernel)
    self.assertAllClose(self.embed(ids), 2 * expected)

  def test_padding_does_not_matter_and_a_long_query_is_cut(self):
    for ids, same in (
      ([7, 8, 0, 0], [7, 8]),
      ([7, 8, 9, 10, 11, 5], [7, 8, 9, 10]),  # 6 - 2 wordpieces are kept.
    ):
      self.assertAllClose(
        self.embed(np.array([ids])), self.embed(np.array([same])), atol=1e-5
      )

  def test_one_graph_serves_all_sizes(self):
    with mock.patch.object(
      self.model, 'embed_queries', wraps=self.model.embed_queries
    ) as traced:
      for shape in ((1, 1), (3, 2), (2, 9)):
        self.assertEqual(self.embed(np.full(shape, 7)).shape, (shape[0], 4))
    traced.assert_called_once()


class OpenvinoTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = small.open_corpus(
      self.create_tempdir().full_path, _BODY_LENGTHS
    )
    self.model = small.model()

  def _open(self, **config):
    return embedding.opener(
      self.model, small.SPECIAL_IDS, config_lib.IndexConfig(**config)
    )

  def _embed(self, embed):
    return embedding.embed_blocks(embed, self.table, _ALL, _LENGTHS)

  @parameterized.parameters(1, 4096)
  def test_openvino_agrees_with_tensorflow(self, wordpieces_at_once):
    expected = self._embed(self._open(embed_backend='tensorflow')())
    with mock.patch.object(
      embedding, '_WORDPIECES_AT_ONCE', wordpieces_at_once
    ):
      actual = self._embed(self._open(embed_backend='openvino')())
    self.assertAllClose(actual, expected, atol=1e-5)

  @parameterized.parameters('cls', 'pooled', 'mean')
  def test_queries_agree_too(self, head):
    config = tiny.changed(
      small.CONFIG.model, embedder={'head': head, 'score_scale': 3.0}
    )
    model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    slow, fast = (
      embedding.compile_queries(model, 7, small.SPECIAL_IDS, backend)
      for backend in ('tensorflow', 'openvino')
    )
    for size in (1, 4, 9):  # The last query is cut.
      ids = np.arange(5, 5 + 2 * size, dtype=np.int32).reshape(2, size)
      self.assertAllClose(fast(ids), slow(ids), atol=1e-5)

  def test_a_reopened_embedder_has_the_current_variables_as_tensorflow(self):
    open_embed = self._open(embed_backend='openvino')
    reading = self._open(embed_backend='tensorflow')()  # The variables.
    before = self._embed(open_embed())
    self.assertAllClose(self._embed(reading), before, atol=1e-5)
    projection = self.model.block_embedder.projection.kernel
    projection.assign(3 * projection)
    words = self.model.block_embedder.encoder.get_embedding_table()
    words.assign(2 * words)
    after = self._embed(open_embed())
    self.assertNotAllClose(after, 3 * before, rtol=1e-3)
    self.assertAllClose(after, self._embed(reading), atol=1e-5)

  def test_auto_takes_openvino_on_one_cpu_if_installed(self):
    self.assertEqual(embedding.choose_backend('auto'), 'openvino')
    # The strategy of a binary without --distribution_strategy.
    alone = tf.distribute.get_strategy()
    self.assertEqual(embedding.choose_backend('auto', alone), 'openvino')
    two = mock.Mock(num_replicas_in_sync=2)
    self.assertEqual(embedding.choose_backend('auto', two), 'tensorflow')
    self.assertEqual(embedding.choose_backend('openvino', two), 'openvino')
    with mock.patch.object(importlib.util, 'find_spec', return_value=None):
      self.assertEqual(embedding.choose_backend('auto'), 'tensorflow')
    with mock.patch.object(
      tf.config, 'list_physical_devices', return_value=['GPU:0']
    ):
      self.assertEqual(embedding.choose_backend('auto'), 'tensorflow')


if __name__ == '__main__':
  tf.test.main()
