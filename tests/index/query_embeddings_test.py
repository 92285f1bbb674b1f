"""Tests for realm_tf.index.query_embeddings."""

import functools
from unittest import mock

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.index import query_embeddings
from realm_tf.modeling import realm_model
from realm_tf.records import joining
from tests import tiny

_BERT = tiny.bert(vocab_size=12, max_positions=16, initializer_range=0.5)
_QUERY_TOKENS = 6
_SPECIAL_IDS = (2, 3)


class CompileEmbeddingTest(tf.test.TestCase):
  compile = staticmethod(query_embeddings.compile_embedding)

  def setUp(self):
    super().setUp()
    tf.random.set_seed(0)
    self.model = realm_model.RealmModel(
      config_lib.ModelConfig(
        embedder_bert=_BERT,
        reader_bert=_BERT,
        embedder=config_lib.EmbedderConfig(embedding_size=4, score_scale=3.0),
      ),
      [realm_model.EMBEDDER],
    )
    self.embed = self.compile(self.model, _QUERY_TOKENS, _SPECIAL_IDS)

  def test_embeds_cls_query_sep_with_the_query_tower(self):
    tokens = joining.pack(tf.constant([[7, 8], [9, 0]]), None, 2, 3, 4)
    self.assertAllClose(
      self.embed(np.array([[7, 8], [9, 0]])),
      3 * self.model.query_embedder(tokens),
    )

  def test_padding_does_not_matter(self):
    self.assertAllClose(
      self.embed(np.array([[7, 8, 0, 0]])),
      self.embed(np.array([[7, 8]])),
      atol=1e-5,
    )

  def test_long_query_is_cut(self):
    # 6 - 2 wordpieces are kept.
    self.assertAllClose(
      self.embed(np.array([[7, 8, 9, 10, 11, 5]])),
      self.embed(np.array([[7, 8, 9, 10]])),
      atol=1e-5,
    )

  def test_changed_parameters_take_effect(self):
    ids = np.array([[7, 8]])
    before = self.embed(ids)
    kernel = self.model.query_embedder.projection.kernel
    kernel.assign(2 * kernel)
    self.assertAllClose(self.embed(ids), 2 * before)


class CompileAnySizeTest(CompileEmbeddingTest):
  compile = functools.partial(query_embeddings.compile_embedding, any_size=True)

  def test_one_graph_serves_all_sizes(self):
    with mock.patch.object(
      self.model, 'embed_queries', wraps=self.model.embed_queries
    ) as traced:
      for shape in ((1, 1), (3, 2), (2, 9)):
        self.assertEqual(self.embed(np.full(shape, 7)).shape, (shape[0], 4))
    traced.assert_called_once()


if __name__ == '__main__':
  tf.test.main()
