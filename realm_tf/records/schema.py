"""A block as tf.train.Example: the names and types of its features."""

import numpy as np
import tensorflow as tf

from realm_tf.corpus import blocks

TITLE = 'title'
TEXT = 'text'
ARTICLE_ID = 'article_id'
TITLE_IDS = 'title_ids'
BODY_IDS = 'body_ids'
SENTENCE_ENDS = 'sentence_ends'

# For tf.io.parse_example; lists come out as RaggedTensors, int64 [B, (L)].
FEATURES = {
  **{
    name: tf.io.FixedLenFeature([], tf.string)
    for name in (TITLE, TEXT, ARTICLE_ID)
  },
  **{
    name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    for name in (TITLE_IDS, BODY_IDS, SENTENCE_ENDS)
  },
}


def encode_block(block: blocks.Block) -> bytes:
  """Serializes `block`."""
  features = {
    TITLE: _text(block.title),
    TEXT: _text(block.text),
    ARTICLE_ID: _text(block.article_id),
    TITLE_IDS: _ints(block.title_ids),
    BODY_IDS: _ints(block.body_ids),
    SENTENCE_ENDS: _ints(block.sentence_ends),
  }
  return tf.train.Example(
    features=tf.train.Features(feature=features)
  ).SerializeToString(deterministic=True)


def decode_block(serialized: bytes) -> blocks.Block:
  """Reads what `encode_block` wrote."""
  features = tf.train.Example.FromString(serialized).features.feature

  def text(name):
    return features[name].bytes_list.value[0].decode('utf-8')

  def ints(name):
    return np.array(features[name].int64_list.value, np.int32)

  return blocks.Block(
    text(TITLE),
    text(TEXT),
    text(ARTICLE_ID),
    ints(TITLE_IDS),
    ints(BODY_IDS),
    ints(SENTENCE_ENDS),
  )


def _text(value: str) -> tf.train.Feature:
  return tf.train.Feature(
    bytes_list=tf.train.BytesList(value=[value.encode('utf-8', 'replace')])
  )


def _ints(values: np.ndarray) -> tf.train.Feature:
  # protobuf takes Python's integers faster than NumPy's.
  return tf.train.Feature(int64_list=tf.train.Int64List(value=values.tolist()))
