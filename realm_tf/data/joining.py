"""Packs wordpieces into BERT's input, for training, indexing and serving.

Plain TensorFlow ops: the same functions run eagerly, under XLA, and in graphs
of unknown sizes; known sizes are static.
"""

from typing import Optional, Union

import tensorflow as tf

PAD_ID = 0  # BERT's; `text.wordpiece` requires it.
# BERT's input tensors, in the order of function arguments here.
NAMES = ('input_word_ids', 'input_mask', 'input_type_ids')
_Size = Union[int, tf.Tensor]


def pack(
  first: tf.Tensor,
  second: Optional[tf.Tensor],
  cls_id: int,
  sep_id: int,
  length: _Size,
) -> dict[str, tf.Tensor]:
  """Packs join_BERT(a) = [CLS] a [SEP], or join_BERT(a, b) = ... b [SEP].

  Section 3.2 of Guu et al. 2020. To fit in L = `length`, first the end of
  `second` is cut, then the end of `first`. The last [SEP] stays.

  Args:
    first: Wordpieces, int32 [..., La], zero-padded.
    second: Wordpieces, int32 [..., Lb], zero-padded, or None.

  Returns:
    'input_word_ids', 'input_mask' (1: a wordpiece), 'input_type_ids' (1:
    `second` and its [SEP]), each int32 [..., L].
  """
  num_specials = 2 if second is None else 3
  a = _length(first, length - num_specials)  # [..., 1]
  position = tf.range(length, dtype=tf.int32)  # [L]
  words = tf.where(position <= a, _shifted(first, 1, length), sep_id)
  if second is None:
    end = a + 1
  else:
    b = _length(second, length - num_specials)
    b = tf.minimum(b, length - num_specials - a)
    end = a + b + 2
    body = _taken(second, position - a - 2)
    words = tf.where((position >= a + 2) & (position < end), body, words)
  words = tf.where(position == 0, cls_id, words)
  mask = position <= end
  types = mask & (position >= a + 2)
  return {
    'input_word_ids': tf.where(mask, words, PAD_ID),
    'input_mask': tf.cast(mask, tf.int32),
    'input_type_ids': tf.cast(types, tf.int32),
  }


def pack_longest(
  first: tf.Tensor,
  second: Optional[tf.Tensor],
  cls_id: int,
  sep_id: int,
  at_most: Optional[int] = None,
) -> dict[str, tf.Tensor]:
  """Packs to the smallest L that fits the arrays' widths, up to `at_most`."""
  length = 2 + _size(first, -1)
  if second is not None:
    length += 1 + _size(second, -1)
  if at_most:
    smaller = min if isinstance(length, int) else tf.minimum
    length = smaller(length, at_most)
  return pack(first, second, cls_id, sep_id, length)


def pack_pairs(
  first: tf.Tensor,
  second: tf.Tensor,
  cls_id: int,
  sep_id: int,
  at_most: int,
  titles: Optional[tf.Tensor] = None,
) -> dict[str, tf.Tensor]:
  """Packs each query with each of its K blocks; int32 [B, K, L <= at_most].

  Args:
    first: Queries, int32 [B, La].
    second: Blocks, int32 [B, K, Lb].
    titles: Titles of the blocks, int32 [B, K, Lt], for [CLS] a [SEP] title
      [SEP] b [SEP], in which only b is the second segment.
  """
  repeated = tf.repeat(first[:, None, :], _size(second, 1), axis=1)
  if titles is not None:
    repeated = _joined(repeated, titles, sep_id)
  return pack_longest(repeated, second, cls_id, sep_id, at_most)


def _joined(first: tf.Tensor, second: tf.Tensor, sep_id: int) -> tf.Tensor:
  """Returns a [SEP] b, int32 [..., La + 1 + Lb], zero-padded."""
  length = _size(first, -1) + 1 + _size(second, -1)
  a, b = _length(first, length), _length(second, length)
  position = tf.range(length, dtype=tf.int32)
  after = _taken(second, position - a - 1)
  words = tf.where(position < a, _shifted(first, 0, length), sep_id)
  words = tf.where(position > a, after, words)
  return tf.where(position <= a + b, words, PAD_ID)


def _size(ids: tf.Tensor, axis: int) -> _Size:
  size = ids.shape[axis]
  return tf.shape(ids)[axis] if size is None else size


def _length(ids: tf.Tensor, at_most: _Size) -> tf.Tensor:
  used = tf.reduce_sum(tf.cast(ids != PAD_ID, tf.int32), axis=-1, keepdims=True)
  return tf.minimum(used, at_most)


def _shifted(ids: tf.Tensor, by: int, length: _Size) -> tf.Tensor:
  ids = ids[..., : length - by]
  after = length - by - _size(ids, -1)
  return tf.pad(ids, [[0, 0]] * (ids.shape.rank - 1) + [[by, after]])


def _taken(ids: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
  """Returns each row's ids at its places, int32 [..., L]; any beyond it."""
  index = tf.clip_by_value(index, 0, _size(ids, -1) - 1)
  return tf.gather(ids, index, batch_dims=ids.shape.rank - 1)
