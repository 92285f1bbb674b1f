"""Tests for realm_tf.model.embedder."""

import dataclasses

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.data import joining
from realm_tf.model import embedder
from realm_tf.model import realm_model
from tests import tiny
from tests.model import one_hot_encoder

_KERNEL = np.array([[9.0, 8.0], [3.0, 4.0], [7.0, 6.0]])


def _tokens(ids, mask=None):
  tokens = tiny.tokens(ids)
  tokens['input_mask'] = (
    tf.ones_like(ids) if mask is None else tf.constant(mask)
  )
  return tokens


def _embedder(**config):
  layer = embedder.Embedder(
    one_hot_encoder.OneHotEncoder(3),
    config_lib.EmbedderConfig(embedding_size=2, **config),
  )
  layer(_tokens([[1]]))  # Builds the weights.
  return layer


class ClsHeadTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.layer = _embedder(head='cls')
    self.layer.projection.set_weights([_KERNEL])

  def test_projects_only_the_cls_position(self):
    # The first token's row of W, without a bias; leading dimensions are kept.
    embeddings = self.layer(_tokens([[[0, 1], [1, 1], [1, 0], [2, 1]]]))
    self.assertAllClose(embeddings, [[[9, 8], [3, 4], [3, 4], [7, 6]]])

  def test_normalizes_if_configured(self):
    layer = _embedder(head='cls', normalize=True)
    layer.projection.set_weights([_KERNEL])
    # (3, 4) has length 5, (9, 8) has length sqrt(145) = 12.0416.
    self.assertAllClose(
      layer(_tokens([[1], [0]])),
      [[3 / 5, 4 / 5], [9 / 12.0416, 8 / 12.0416]],
      atol=1e-5,
    )


class PooledHeadTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.layer = _embedder(
      head='pooled', dropout_rate=0.5, layer_norm_epsilon=1e-12
    )
    self.layer.projection.set_weights([_KERNEL, np.array([1.0, 4.0])])
    self.layer.layer_norm.set_weights(
      [np.array([10.0, 10.0]), np.array([0.0, 1.0])]
    )

  def test_is_layer_norm_of_dense_of_pooled(self):
    # Token 1 pools to -(0, 1, 0): Dense gives (1 - 3, 4 - 4) = (-2, 0), whose
    # mean is -1 and deviation 1: (-1, 1), times 10, plus (0, 1). Token 2 gives
    # (1 - 7, 4 - 6) = (-6, -2): (-1, 1) as well; token 0 gives (-8, -4).
    # So the bias decides: without it token 1 is (-3, -4), that is (1, -1).
    self.assertAllClose(
      self.layer(_tokens([[1, 2], [2, 1]])), [[-10.0, 11.0], [-10.0, 11.0]]
    )
    self.layer.projection.set_weights([_KERNEL, np.zeros(2)])
    self.assertAllClose(
      self.layer(_tokens([[1, 2], [2, 1]])), [[10.0, -9.0], [-10.0, 11.0]]
    )

  def test_epsilon_comes_from_the_config(self):
    layer = _embedder(head='pooled', layer_norm_epsilon=3.0)
    # Token 1 gives -(3, 4), of variance 1/4, which becomes 3.25.
    layer.projection.set_weights([_KERNEL, np.zeros(2)])
    half = 0.5 / np.sqrt(3.25)
    self.assertAllClose(
      np.abs(layer(_tokens([[1]]))), [[half, half]], atol=1e-6
    )
    # The default is the release's.
    self.assertEqual(_embedder(head='pooled').layer_norm.epsilon, 1e-3)

  def test_drops_only_in_training(self):
    tokens = _tokens([[1, 2]] * 100)
    dropped = self.layer(tokens, training=True).numpy()
    # Half of the values are dropped; the others are doubled.
    self.assertEqual(set(np.unique(dropped[:, 0]).round()), {-20.0, 0.0})
    self.assertAllClose(self.layer(tokens)[:, 0], np.full([100], -10.0))


class OtherHeadsTest(tf.test.TestCase):
  def test_pool_without_padding_and_weights(self):
    # Row 0: tokens 1, 2, 2; row 1: token 1 only; row 2: no token.
    tokens = _tokens([[1, 2, 2]] * 3, [[1, 1, 1], [1, 0, 0], [0, 0, 0]])
    for head, num_rows, expected in (
      ('mean', 3, [[0, 1 / 3, 2 / 3], [0, 1, 0], [0, 0, 0]]),
      ('max', 2, [[0, 1, 1], [0, 1, 0]]),
      ('first', 3, [[0, 1, 0]] * 3),  # The state of [CLS].
    ):
      layer = _embedder(head=head)
      self.assertAllClose(layer(tokens)[:num_rows], expected, msg=head)
      self.assertEmpty(layer.variables)

  def test_dense_follows_the_pooling(self):
    layer = _embedder(head='mean', dense='tanh')
    layer.projection.set_weights([_KERNEL / 10, np.array([0.0, 0.1])])
    # The mean of tokens 1 and 2 gives ((3 + 7) / 20, (4 + 6) / 20).
    self.assertAllClose(
      layer(_tokens([[1, 2]])), np.tanh([[0.5, 0.6]]), atol=1e-6
    )


class PromptsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.queries = tf.constant([[7, 8, 9], [7, 0, 0]])
    self.packed = joining.pack(self.queries, None, *tiny.SPECIAL_IDS, 5)

  def test_equals_packing_with_the_prompt(self):
    inserted = embedder.insert_prompt(self.packed, '6 5')
    expected = joining.pack(
      tf.constant([[6, 5, 7, 8, 9], [6, 5, 7, 0, 0]]),
      None,
      *tiny.SPECIAL_IDS,
      7,
    )
    self.assertAllClose(inserted, expected)

  def test_prompt_precedes_the_title(self):
    titles = tf.constant([[9, 0]])
    bodies = tf.constant([[7, 8]])
    packed = joining.pack(titles, bodies, *tiny.SPECIAL_IDS, 6)
    expected = joining.pack(
      tf.constant([[6, 9, 0]]), bodies, *tiny.SPECIAL_IDS, 7
    )
    self.assertAllClose(embedder.insert_prompt(packed, '6'), expected)

  def test_queries_and_blocks_have_separate_prompts(self):
    config = realm_model.with_vocab_size(
      tiny.config().model, tiny.TOKENIZER.vocab_size
    )
    shared = dataclasses.replace(
      config.embedder,
      shared_towers=True,
      head='mean',
      query_prompt='6',
      block_prompt='5 6',
    )
    model = realm_model.RealmModel(
      dataclasses.replace(config, embedder=shared), [realm_model.EMBEDDER]
    )
    for embed, prompt in (
      (model.embed_queries, [6]),
      (model.embed_blocks, [5, 6]),
    ):
      expected = model.query_embedder(
        joining.pack(
          tf.constant([[*prompt, 7]]), None, *tiny.SPECIAL_IDS, len(prompt) + 3
        )
      )
      self.assertAllClose(embed(self.packed)[1:], expected, atol=1e-5)


if __name__ == '__main__':
  tf.test.main()
