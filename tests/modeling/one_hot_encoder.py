"""Stands in for BERT where a test computes by hand."""

import tensorflow as tf
import tf_keras


class OneHotEncoder(tf_keras.layers.Layer):
  """Position i's output is the one-hot of token i; pooled is -1 times [CLS]'s.

  Args:
    vocab_size: V, which is the hidden size too.
  """

  def __init__(self, vocab_size: int):
    super().__init__()
    self.vocab_size = vocab_size

  def call(self, tokens, training=False):
    states = tf.one_hot(tokens['input_word_ids'], self.vocab_size)
    return {'sequence_output': states, 'pooled_output': -states[:, 0]}
