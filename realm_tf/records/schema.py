"""A block as a tf.train.Example."""

import numpy as np
import tensorflow as tf

from realm_tf.corpus import blocks

_TEXTS = ('title', 'text', 'article_id')
_INTS = ('title_ids', 'body_ids', 'sentence_ends')


def encode_block(block: blocks.Block) -> bytes:
  """Serializes a block; its fields are the features."""
  features = {
    **{name: _text(getattr(block, name)) for name in _TEXTS},
    **{name: _ints(getattr(block, name)) for name in _INTS},
  }
  return tf.train.Example(
    features=tf.train.Features(feature=features)
  ).SerializeToString(deterministic=True)


def decode_block(serialized: bytes) -> blocks.Block:
  """Reads the result of `encode_block`."""
  features = tf.train.Example.FromString(serialized).features.feature
  return blocks.Block(
    *(features[name].bytes_list.value[0].decode('utf-8') for name in _TEXTS),
    *(np.array(features[name].int64_list.value, np.int32) for name in _INTS),
  )


def _text(value: str) -> tf.train.Feature:
  return tf.train.Feature(
    bytes_list=tf.train.BytesList(value=[value.encode('utf-8', 'replace')])
  )


def _ints(values: np.ndarray) -> tf.train.Feature:
  # protobuf takes Python's integers faster than NumPy's.
  return tf.train.Feature(int64_list=tf.train.Int64List(value=values.tolist()))
