"""The two heads of the reader's BERT: masked tokens and answers of blocks."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import interfaces
from realm_tf.model import bert


class KnowledgeEncoder(tf_keras.layers.Layer):
  """Predicts masked tokens: pre-training's knowledge-augmented encoder.

  p(y_j|z,x) is proportional to exp(w_j . BERT_MASK(j)(join(x, z_body))),
  Section 3.2 of Guu et al. 2020, with BERT's transform before the product. In
  training, a `LeanEncoder` and an `IslandsHead` can replace encoder and head.

  A call returns log p(y_j|z,x), float32 [B, K, M].

  Call arguments:
    tokens: The encoder's input dict of join(x, z), int32 [B, K, L].
    positions: Masked positions of the joint sequence, int32 [B, M].
    gold_ids: Original tokens at these positions, int32 [B, M].
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    masked_lm: tf_keras.layers.Layer,
    lean: Callable[..., dict[str, tf.Tensor]] | None = None,
    lean_head: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] | None = None,
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.masked_lm = masked_lm
    self.lean = lean
    self.lean_head = lean_head

  def call(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    gold_ids: tf.Tensor,
    training: bool = False,
  ):
    num_candidates = tokens['input_word_ids'].shape[1]
    gold = tf.repeat(gold_ids[:, None, :], num_candidates, axis=1)
    if training and self.lean_head is not None:
      states = self._lean_states(tokens, positions)
      flat = tf.reshape(gold, [-1, gold.shape[2]])
      return tf.reshape(self.lean_head(states, flat), [-1, *gold.shape[1:]])
    logits = self.logits(tokens, positions, training)  # [B, K, M, V]
    return -tf.nn.sparse_softmax_cross_entropy_with_logits(gold, logits)

  def logits(
    self,
    tokens: dict[str, tf.Tensor],
    positions: tf.Tensor,
    training: bool = False,
  ) -> tf.Tensor:
    """Returns the logits at `positions`, float32 [B, K, M, V]."""
    num_candidates = tokens['input_word_ids'].shape[1]
    repeated = tf.repeat(positions, num_candidates, axis=0)  # [B * K, M]
    if training and self.lean is not None:
      states = self._lean_states(tokens, positions)
      # The states are only at the masked positions.
      repeated = tf.zeros_like(repeated) + tf.range(positions.shape[1])
    else:
      encoded = self.encoder(_flat(tokens), training=training)
      states = encoded['sequence_output']
    logits = self.masked_lm(states, repeated)  # [B * K, M, V]
    shape = [-1, num_candidates, positions.shape[1], logits.shape[-1]]
    return tf.cast(tf.reshape(logits, shape), tf.float32)

  def _lean_states(self, tokens, positions):
    """Returns the states at `positions` in training, [B * K, M, H]."""
    repeated = tf.repeat(positions, tokens['input_word_ids'].shape[1], axis=0)
    return self.lean(_flat(tokens), repeated, True)['sequence_output']


def _flat(tokens):
  """Reshapes [B, K, L] to [B * K, L]."""
  return {
    name: tf.reshape(value, [-1, value.shape[-1]])
    for name, value in tokens.items()
  }


class SpanReader(tf_keras.layers.Layer):
  """MLP([h_START(s); h_END(s)]) of all spans s of at most W wordpieces.

  Section 3.2 of Guu et al. 2020 as ORQA computes it (Lee et al. 2019, Section
  5): one Dense layer on the sequence output has a start half and an end half. A
  span's hidden layer is the sum of two precomputed halves.

  With `head` 'linear' the sum of a start logit and an end logit is the score
  (Devlin et al. 2019, Section 4.2). With 'linear_null' the logits of [CLS] give
  a null span (Section 4.3), which says that this block has no answer. So the
  scores are log p(y|z,x), normalized over each block's spans and its null span:
  a softmax of the K blocks with f(x,z) added is p(z|x) p(y|z,x) of Eq. 1.

  Args:
    hidden_size: Width of a half of 'mlp'; 256 in ORQA.
    head: `ModelConfig.span_head`.
    max_span_width: W, in wordpieces; 10 in ORQA.
    lean: `LeanEncoder` to use in training.
    is_inner: Whether a wordpiece is inside a word, bool [V]. A span neither
      begins with such a wordpiece nor ends before one. None allows all spans.
    null_spans: Whether 'mlp' also scores a null span from [CLS]'s state.

  Call arguments:
    tokens: The encoder's input dict of join(x, z), int32 [B, K, L]; spans lie
      in the second segment, without its [SEP].
    body_length: Lz, number of first wordpieces of the second segment to score;
      Lz and L may be unknown when the graph is built, as in a SavedModel.

  A call returns `interfaces.Scores`.
  """

  def __init__(
    self,
    encoder: tf_keras.layers.Layer,
    hidden_size: int = 256,
    max_span_width: int = 10,
    lean: Callable[..., dict[str, tf.Tensor]] | None = None,
    is_inner: np.ndarray | None = None,
    null_spans: bool = False,
    head: str = 'mlp',
    **kwargs,
  ):
    super().__init__(**kwargs)
    self.encoder = encoder
    self.hidden_size = hidden_size
    self.max_span_width = max_span_width
    self.lean = lean
    self.is_inner = is_inner
    self.head = head
    self.null_score = None
    if head != 'mlp':
      self.projection = _dense(2, 'linear')
      if head == 'linear_null':
        self.null_score = self.projection
      return
    self.projection = _dense(2 * hidden_size, 'projection')
    self.layer_norm = tf_keras.layers.LayerNormalization(
      epsilon=1e-3, name='layer_norm', dtype='float32'
    )
    self.score = _dense(1, 'score')
    if null_spans:
      self.null_score = _dense(1, 'null_score')

  def call(
    self,
    tokens: dict[str, tf.Tensor],
    body_length: int,
    training: bool = False,
    encode: Callable[..., dict[str, tf.Tensor]] | None = None,
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
    null = self._null(states[:, 0])
    places, in_body = _body(flat['input_type_ids'], body_length)
    can_begin, can_end = self._borders(flat['input_word_ids'], places)
    states = tf.gather(states, places, batch_dims=1)
    start, end = tf.split(self.projection(states), 2, axis=-1)
    borders = in_body & can_begin, in_body & can_end
    scores = [
      self._width_scores(start, end, borders, width)
      for width in range(self.max_span_width)
    ]
    scores = tf.stack(scores, axis=-1)  # [B * K, Lz, W]
    if self.head == 'linear_null':
      flat = tf.reshape(scores, [-1, body_length * self.max_span_width])
      everything = tf.reduce_logsumexp(
        tf.concat([flat, null[:, None]], axis=-1), axis=-1
      )
      scores, null = scores - everything[:, None, None], null - everything
    shape = [-1, num_read, body_length, self.max_span_width]
    return interfaces.Scores(
      tf.reshape(scores, shape), tf.reshape(null, shape[:2])
    )

  def _null(self, cls):
    """Returns scores of null spans, [B * K], for states of [CLS], [., H]."""
    if self.null_score is None:
      return tf.fill(tf.shape(cls)[:1], interfaces.NO_SCORE)
    return tf.reduce_sum(self.null_score(cls), axis=-1)

  def _borders(self, ids, places):
    """Returns where a word begins and where one ends, bool [B, Lz] each."""
    if self.is_inner is None:
      return True, True
    last = bert.size(ids, 1) - 1
    is_inner = tf.gather(tf.constant(self.is_inner), ids)  # [B, L]
    here, after = (
      tf.gather(is_inner, tf.minimum(places + shift, last), batch_dims=1)
      for shift in (0, 1)
    )
    return ~here, ~after

  def _width_scores(self, start, end, borders, width):
    """Returns the scores of all spans of `width` + 1 wordpieces, [B, Lz]."""
    length = bert.size(end, 1)
    smaller = min if isinstance(length, int) else tf.minimum
    width = smaller(width, length)
    ends = tf.pad(end[:, width:, :], [[0, 0], [0, width], [0, 0]])
    # The body is contiguous: a span with both ends in the body lies in it.
    begins, stops = borders
    inside = begins & tf.pad(stops[:, width:], [[0, 0], [0, width]])
    score = start + ends
    if self.head == 'mlp':
      score = self.score(self.layer_norm(tf.nn.relu(score)))
    return tf.where(inside, tf.squeeze(score, axis=-1), interfaces.NO_SCORE)


def _body(type_ids, body_length):
  """Returns the places of the second segment's wordpieces, int32 [B, Lz].

  Also returns the mask of places without [SEP] and padding, bool [B, Lz].
  """
  first = tf.argmax(type_ids, axis=-1, output_type=tf.int32)  # [B]
  index = first[:, None] + tf.range(body_length)  # [B, Lz]
  num_body = tf.reduce_sum(type_ids, axis=-1) - 1  # Without [SEP].
  in_body = tf.range(body_length) < num_body[:, None]
  return tf.minimum(index, bert.size(type_ids, 1) - 1), in_body


def _dense(units, name):
  return tf_keras.layers.Dense(
    units,
    name=name,
    dtype='float32',
    kernel_initializer=tf_keras.initializers.TruncatedNormal(stddev=0.02),
  )
