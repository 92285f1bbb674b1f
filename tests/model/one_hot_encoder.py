"""A replacement of BERT for computation by hand."""

import tensorflow as tf
import tf_keras


class OneHotEncoder(tf_keras.layers.Layer):
  """Outputs the one-hot of each token; the pooled output is minus [CLS]'s.

  Args:
    vocab_size: V, also the hidden size.
  """

  def __init__(self, vocab_size: int):
    super().__init__()
    self.vocab_size = vocab_size

  def call(self, tokens, training=False):
    states = tf.one_hot(tokens['input_word_ids'], self.vocab_size)
    return {'sequence_output': states, 'pooled_output': -states[:, 0]}
