"""Tests for realm_tf.index.embed_backend."""

import dataclasses
import importlib.util
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.index import block_embeddings
from realm_tf.index import embed_backend
from realm_tf.modeling import realm_model
from tests.index import small

_BODY_LENGTHS = (2, 60, 1, 13, 30, 13, 7, 36, 20)


class EmbedBackendTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = small.open_corpus(
      self.create_tempdir().full_path, _BODY_LENGTHS
    )
    self.model = small.model()

  def _open(self, **config):
    return embed_backend.opener(
      self.model, small.SPECIAL_IDS, config_lib.IndexConfig(**config)
    )

  def _embed(self, embed):
    return block_embeddings.embed_blocks(
      embed, self.table, np.arange(9), small.CONFIG.lengths
    )

  @parameterized.parameters(1, 4096)
  def test_openvino_agrees_with_tensorflow(self, wordpieces_at_once):
    expected = self._embed(self._open(embed_backend='tensorflow')())
    with mock.patch.object(
      embed_backend, '_WORDPIECES_AT_ONCE', wordpieces_at_once
    ):
      actual = self._embed(self._open(embed_backend='openvino')())
    self.assertAllClose(actual, expected, atol=1e-5)

  @parameterized.parameters('cls', 'pooled', 'mean')
  def test_queries_agree_too(self, head):
    config = dataclasses.replace(
      small.CONFIG.model,
      embedder=dataclasses.replace(
        small.CONFIG.model.embedder, head=head, score_scale=3.0
      ),
    )
    model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    slow, fast = (
      embed_backend.query_embedding(model, 7, small.SPECIAL_IDS, backend)
      for backend in ('tensorflow', 'openvino')
    )
    for size in (1, 4, 9):  # The last query is cut.
      ids = np.arange(5, 5 + 2 * size, dtype=np.int32).reshape(2, size)
      self.assertAllClose(fast(ids), slow(ids), atol=1e-5)

  def test_a_reopened_embedder_has_the_current_variables(self):
    open_embed = self._open(embed_backend='openvino')
    before = self._embed(open_embed())
    projection = self.model.block_embedder.projection.kernel
    projection.assign(3 * projection)
    words = self.model.block_embedder.encoder.get_embedding_table()
    words.assign(2 * words)
    after = self._embed(open_embed())
    self.assertNotAllClose(after, 3 * before, rtol=1e-3)
    expected = self._embed(self._open(embed_backend='tensorflow')())
    self.assertAllClose(after, expected, atol=1e-5)

  def test_auto_takes_openvino_on_one_cpu_if_installed(self):
    self.assertEqual(embed_backend.choose('auto'), 'openvino')
    # The strategy of a binary without --distribution_strategy.
    alone = tf.distribute.get_strategy()
    self.assertEqual(embed_backend.choose('auto', alone), 'openvino')
    two = mock.Mock(num_replicas_in_sync=2)
    self.assertEqual(embed_backend.choose('auto', two), 'tensorflow')
    self.assertEqual(embed_backend.choose('openvino', two), 'openvino')
    with mock.patch.object(importlib.util, 'find_spec', return_value=None):
      self.assertEqual(embed_backend.choose('auto'), 'tensorflow')
    with mock.patch.object(
      tf.config, 'list_physical_devices', return_value=['GPU:0']
    ):
      self.assertEqual(embed_backend.choose('auto'), 'tensorflow')


if __name__ == '__main__':
  absltest.main()
