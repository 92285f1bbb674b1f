"""Inserts a prompt after [CLS], for encoders that were trained with one.

[CLS] x [SEP] -> [CLS] "query : " x [SEP]
"""

import tensorflow as tf


def insert(tokens: dict[str, tf.Tensor], prompt: str) -> dict[str, tf.Tensor]:
  """Inserts P wordpiece ids, separated by spaces, in the first segment.

  The encoder's input dict, int32 [..., L], becomes int32 [..., L + P].
  """
  if not prompt:
    return tokens
  ids = [int(part) for part in prompt.split(' ')]
  inserted = {
    'input_word_ids': ids,
    'input_mask': [1] * len(ids),
    'input_type_ids': [0] * len(ids),
  }
  return {
    name: _behind_first(value, inserted[name]) for name, value in tokens.items()
  }


def _behind_first(values, inserted):
  first, rest = values[..., :1], values[..., 1:]
  row = tf.zeros_like(first) + tf.constant(inserted, values.dtype)
  return tf.concat([first, row, rest], axis=-1)
