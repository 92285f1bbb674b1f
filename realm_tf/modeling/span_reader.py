"""Scores the spans of a block as answers: the ORQA head."""

from collections.abc import Callable
from typing import Optional

import tensorflow as tf
import tf_keras

from realm_tf.modeling import bert
from realm_tf.objectives import exclusion


class SpanReader(tf_keras.layers.Layer):
  """MLP([h_START(s); h_END(s)]) of every span s of at most W wordpieces.

  Section 3.2 of Guu et al. 2020 as ORQA computes it (Lee et al. 2019, Section
  5): one Dense layer on the sequence output, split into a start and an end
  half, so that the hidden layer of a span is the sum of two precomputed halves.

  Args:
    encoder: A BERT encoder of `bert.build_encoder`'s form.
    hidden_size: Width of a half; 256 in ORQA.
    max_span_width: W, in wordpieces; 10 in ORQA.
    lean: `LeanEncoder` that stands in for `encoder` in training.

  Call arguments:
    tokens: The encoder's input dict of join(x, z), int32 [B, K, L]; spans lie
      in the second segment, without its [SEP].
    body_length: Lz, wordpieces to score, counted from the second segment's
      first. It and L may be tensors and unknown, as in a SavedModel.

  Returns:
    Scores, float32 [B, K, Lz, W]: entry (s, w) is the span of w + 1 wordpieces
    that starts at the block's wordpiece s; NO_SCORE where it leaves the block.
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    hidden_size: int = 256,
    max_span_width: int = 10,
    lean: Optional[Callable[..., dict[str, tf.Tensor]]] = None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.hidden_size = hidden_size
    self.max_span_width = max_span_width
    self.lean = lean
    self.projection = _dense(2 * hidden_size, 'projection')
    self.layer_norm = tf_keras.layers.LayerNormalization(
      epsilon=1e-3, name='layer_norm', dtype='float32'
    )
    self.score = _dense(1, 'score')

  def call(
    self,
    tokens: dict[str, tf.Tensor],
    body_length: int,
    training: bool = False,
    encode: Optional[Callable[..., dict[str, tf.Tensor]]] = None,
  ):
    num_read = tokens['input_word_ids'].shape[1]
    length = bert.size(tokens['input_word_ids'], 2)
    flat = {
      name: tf.reshape(value, [-1, length]) for name, value in tokens.items()
    }
    if encode is None:
      encode = self.lean if training and self.lean else self.encoder
    states = encode(flat, training=training)['sequence_output']
    states = tf.cast(states, tf.float32)
    states, allowed = _body(states, flat['input_type_ids'], body_length)
    start, end = tf.split(self.projection(states), 2, axis=-1)
    scores = [
      self._width_scores(start, end, allowed, width)
      for width in range(self.max_span_width)
    ]
    scores = tf.stack(scores, axis=-1)  # [B * K, Lz, W]
    return tf.reshape(scores, [-1, num_read, body_length, self.max_span_width])

  def _width_scores(self, start, end, allowed, width):
    """Returns the scores of all spans of `width` + 1 pieces, [B, Lz]."""
    length = bert.size(end, 1)
    smaller = min if isinstance(length, int) else tf.minimum
    width = smaller(width, length)
    ends = tf.pad(end[:, width:, :], [[0, 0], [0, width], [0, 0]])
    # The body is contiguous: a span lies in it if both of its ends do.
    inside = allowed & tf.pad(allowed[:, width:], [[0, 0], [0, width]])
    hidden = self.layer_norm(tf.nn.relu(start + ends))
    score = tf.squeeze(self.score(hidden), axis=-1)
    return tf.where(inside, score, exclusion.NO_SCORE)


def _body(states, type_ids, body_length):
  """Moves the second segment to the front.

  Returns:
    Its states, [B, Lz, H], and where they are of a wordpiece of the block and
    not of its [SEP] or of padding, bool [B, Lz].
  """
  first = tf.argmax(type_ids, axis=-1, output_type=tf.int32)  # [B]
  index = first[:, None] + tf.range(body_length)  # [B, Lz]
  num_body = tf.reduce_sum(type_ids, axis=-1) - 1  # Its last one is [SEP].
  allowed = tf.range(body_length) < num_body[:, None]
  index = tf.minimum(index, bert.size(states, 1) - 1)
  return tf.gather(states, index, batch_dims=1), allowed


def _dense(units, name):
  return tf_keras.layers.Dense(
    units,
    name=name,
    dtype='float32',
    kernel_initializer=tf_keras.initializers.TruncatedNormal(stddev=0.02),
  )
