"""Puts a prompt behind [CLS], for encoders that were trained with one.

[CLS] x [SEP] -> [this file] -> [CLS] "query : " x [SEP]
"""

import tensorflow as tf


def insert(tokens: dict[str, tf.Tensor], prompt: str) -> dict[str, tf.Tensor]:
  """Returns packed wordpieces with a prompt behind the first of each row.

  Args:
    tokens: 'input_word_ids', 'input_mask' and 'input_type_ids', int32 [..., L].
    prompt: P ids with spaces between them; see `EmbedderConfig.query_prompt`.

  Returns:
    The same, int32 [..., L + P]. The prompt is of the first segment.
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
