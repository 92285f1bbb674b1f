"""The one packer of [CLS] a [SEP] b [SEP], for training, indexing, serving.

  wordpieces without specials -> [this file] -> what BERT reads

Plain TensorFlow ops of static shape: the same function runs eagerly on the
host, inside the compiled training step, under XLA, and inside a SavedModel.
"""

from typing import Optional

import tensorflow as tf

PAD_ID = 0  # BERT's; `text.wordpiece` insists on it.
# What BERT reads, in the order in which functions of them take them here.
NAMES = ('input_word_ids', 'input_mask', 'input_type_ids')


def pack(
  first: tf.Tensor,
  second: Optional[tf.Tensor],
  cls_id: int,
  sep_id: int,
  length: int,
) -> dict[str, tf.Tensor]:
  """Packs join_BERT(a) = [CLS] a [SEP], or join_BERT(a, b) = ... b [SEP].

  Section 3.2 of Guu et al. 2020. What does not fit in `length` is cut off:
  first the end of `second`, then the end of `first`. The last [SEP] stays.

  Args:
    first: int32 [..., La], wordpieces, zeros behind them.
    second: int32 [..., Lb], likewise, or None. Leading dimensions as `first`.
    cls_id: The vocabulary's [CLS].
    sep_id: The vocabulary's [SEP].
    length: L, of the result.

  Returns:
    'input_word_ids', 'input_mask' (1 = a wordpiece), 'input_type_ids' (1 =
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
    body = tf.gather(
      second,
      _source(position - a - 2, second),
      batch_dims=(second.shape.rank - 1),
    )
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
  """Packs to the length that the arrays' widths need, `at_most` that long.

  The host trims arrays to what a batch needs, so L follows from their shapes.
  """
  width = 2 + first.shape[-1]
  if second is not None:
    width += 1 + second.shape[-1]
  return pack(first, second, cls_id, sep_id, min(width, at_most or width))


def pack_pairs(
  first: tf.Tensor,
  second: tf.Tensor,
  cls_id: int,
  sep_id: int,
  at_most: int,
  titles: Optional[tf.Tensor] = None,
) -> dict[str, tf.Tensor]:
  """Packs each query with each of its K blocks.

  Args:
    first: int32 [B, La].
    second: int32 [B, K, Lb].
    cls_id: The vocabulary's [CLS].
    sep_id: The vocabulary's [SEP].
    at_most: Longest L.
    titles: Of the blocks, int32 [B, K, Lt]: [CLS] a [SEP] title [SEP] b [SEP],
      of which the second segment is b alone. By default there are none.

  Returns:
    As `pack`, int32 [B, K, L].
  """
  repeated = tf.repeat(first[:, None, :], second.shape[1], axis=1)
  if titles is not None:
    repeated = _joined(repeated, titles, sep_id)
  return pack_longest(repeated, second, cls_id, sep_id, at_most)


def _joined(first: tf.Tensor, second: tf.Tensor, sep_id: int) -> tf.Tensor:
  """Returns a [SEP] b, zeros behind, int32 [..., La + 1 + Lb]."""
  length = first.shape[-1] + 1 + second.shape[-1]
  a, b = _length(first, length), _length(second, length)
  position = tf.range(length, dtype=tf.int32)
  behind = tf.gather(
    second,
    _source(position - a - 1, second),
    batch_dims=(second.shape.rank - 1),
  )
  words = tf.where(position < a, _shifted(first, 0, length), sep_id)
  words = tf.where(position > a, behind, words)
  return tf.where(position <= a + b, words, PAD_ID)


def _length(ids: tf.Tensor, at_most: int) -> tf.Tensor:
  used = tf.reduce_sum(tf.cast(ids != PAD_ID, tf.int32), axis=-1, keepdims=True)
  return tf.minimum(used, at_most)


def _shifted(ids: tf.Tensor, by: int, length: int) -> tf.Tensor:
  """`ids` moved right by `by`, cut or padded to `length`, [..., L]."""
  ids = ids[..., : length - by]
  behind = length - by - ids.shape[-1]
  return tf.pad(ids, [[0, 0]] * (ids.shape.rank - 1) + [[by, behind]])


def _source(index: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
  return tf.clip_by_value(index, 0, ids.shape[-1] - 1)
