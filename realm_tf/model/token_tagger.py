"""Labels wordpieces by BERT and a linear layer (Devlin et al. 2019, 5.3)."""

from collections.abc import Mapping

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config as config_lib
from realm_tf.model import bert
from realm_tf.model import weights

_TOWERS = ('reader', 'query', 'shared')  # BERTs to start from, best first.


class TokenTagger(tf.Module):
  """Scores C labels for each wordpiece."""

  def __init__(self, config: config_lib.BertConfig, num_labels: int):
    super().__init__(name='tagger')
    self.encoder = bert.build_encoder(config, 'tagger_bert')
    self.head = tf_keras.layers.Dense(
      num_labels,
      name='tagger_head',
      dtype='float32',
      kernel_initializer=tf_keras.initializers.TruncatedNormal(
        stddev=config.initializer_range
      ),
    )
    self.head(tf.zeros([1, config.hidden_size]))  # Creates the weights.

  def __call__(
    self, tokens: dict[str, tf.Tensor], training: bool = False
  ) -> tf.Tensor:
    """Maps the encoder's input dict to logits, float32 [B, L, C]."""
    states = self.encoder(tokens, training=training)['sequence_output']
    return self.head(tf.cast(states, tf.float32))

  def load(self, arrays: Mapping[str, np.ndarray]) -> weights.LoadReport:
    """Assigns a tagger's weights, or the BERT of a model without tagger."""
    if not any(name.startswith('tagger_') for name in arrays):
      found = {name.partition('_bert/')[0] for name in arrays}
      tower = next((each for each in _TOWERS if each in found), 'no')
      arrays = {
        name.replace(f'{tower}_bert/', 'tagger_bert/', 1): value
        for name, value in arrays.items()
        if name.startswith(f'{tower}_bert/')
      }
    return weights.assign(self.variables, arrays)
