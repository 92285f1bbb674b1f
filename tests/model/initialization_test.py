"""Tests for realm_tf.model.initialization."""

import dataclasses

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import bert
from tests import tiny

_CONFIG = config_lib.BertConfig(
  vocab_size=300,
  hidden_size=64,
  num_layers=2,
  num_heads=2,
  intermediate_size=64,
  max_positions=12,
  initializer='mimetic',
)
_MASK = 4
_SENTENCE = [2, 17, _MASK, 3, 101, 250, 33, 3]


def _mean_rank(config, seed):
  """Returns the mean rank of _SENTENCE's wordpieces, each masked in turn."""
  tf_keras.utils.set_random_seed(seed)  # Keras draws from Python's random.
  encoder = bert.build_encoder(config)
  head = bert.build_masked_lm_head(encoder, config)
  states = encoder(tiny.tokens([_SENTENCE]))
  logits = head(states['sequence_output'], tf.constant([[2]]))[0, 0].numpy()
  ranks = np.argsort(np.argsort(-logits))
  return np.mean(ranks[sorted(set(_SENTENCE))])


class MimeticInitializationTest(tf.test.TestCase):
  def test_untrained_heads_prefer_tokens_of_the_block(self):
    normal = dataclasses.replace(_CONFIG, initializer='truncated_normal')
    mimetic_rank, normal_rank = (
      np.mean([_mean_rank(config, seed) for seed in range(5)])
      for config in (_CONFIG, normal)
    )
    self.assertLess(mimetic_rank, 75)  # 150 of 300 by chance.
    self.assertLess(mimetic_rank, 0.6 * normal_rank)

  def test_products_of_attention_are_near_the_identity(self):
    weights = {v.name: v.numpy() for v in bert.build_encoder(_CONFIG).weights}
    for layer in range(_CONFIG.num_layers):
      prefix = f'transformer/layer_{layer}/self_attention/'
      value, output, query, key = (
        next(w for name, w in weights.items() if prefix + end in name)
        for end in ('value/k', 'attention_output/k', 'query/k', 'key/k')
      )
      for left, right, scale in (
        (value.reshape(64, 64), output.reshape(64, 64), 1.0),
        (query.reshape(64, 64), key.reshape(64, 64).T, 0.25),
      ):
        product = left @ right
        self.assertAllClose(np.mean(np.diag(product)), scale, atol=0.05)
        off_diagonal = product - np.diag(np.diag(product))
        self.assertLess(np.std(off_diagonal), 0.1 * scale)


if __name__ == '__main__':
  tf.test.main()
