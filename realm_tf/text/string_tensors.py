"""What `wordpiece` and `answers` do, on string tensors inside a graph.

  string [n] -> wordpiece ids, byte offsets, character offsets, what is compared

A SavedModel takes strings in, and no Python runs in it. Strings are UTF-8.
"""

from typing import NamedTuple

import tensorflow as tf
import tensorflow_text as tf_text

from realm_tf.text import wordpiece

_PUNCTUATION = r'[!-/:-@\[-`{-~]'  # ASCII's, as string.punctuation.
_ARTICLES = r'\b(a|an|the)\b'
# What str.split() takes for white space, and RE2's \s leaves out in part.
_SPACES = r'[\s\x0b\x1c-\x1f\x{85}\p{Z}]+'


class Tokens(NamedTuple):
  """The wordpieces of n strings.

  Attributes:
    ids: Ragged int32 [n, (L)].
    starts: Ragged int64, in bytes of the string; piece i stands for the bytes
      from starts[i] to ends[i].
    ends: Ragged int64. Of a character that expands to several pieces, all but
      the last one are empty.
  """

  ids: tf.RaggedTensor
  starts: tf.RaggedTensor
  ends: tf.RaggedTensor


def valid(texts: tf.Tensor) -> tf.Tensor:
  """Returns strings of any bytes as UTF-8; U+FFFD stands for what is not."""
  return tf.strings.unicode_transcode(texts, 'UTF-8', 'UTF-8')


def token_ids(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor, length: int
) -> tf.Tensor:
  """Returns wordpieces, cut or zero-padded, int32 [n, length]."""
  ids = tokenizer.wordpieces.tokenize(tokenizer.normalizer.normalize(texts))
  return _pad(ids, length)


def masked_token_ids(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor, length: int
) -> tf.Tensor:
  """As `token_ids`, of strings in which '[MASK]' is a wordpiece."""
  parts = tf.strings.split(texts, wordpiece.MASK)  # [n, (parts)]
  ids = tokenizer.wordpieces.tokenize(
    tokenizer.normalizer.normalize(parts.values)
  )
  mask = tf.fill([ids.nrows(), 1], tokenizer.mask_id)
  ids = parts.with_values(tf.concat([mask, ids], axis=1)).merge_dims(1, 2)
  return _pad(ids[:, 1:], length)  # No [MASK] is before the first part.


def tokenize(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor
) -> Tokens:
  """Returns the wordpieces of `texts`, string [n], with their places."""
  normalized, origins = tokenizer.normalizer.normalize_with_offsets(texts)
  ids, starts, ends = tokenizer.wordpieces.tokenize_with_offsets(normalized)
  first = tf.gather(origins.row_starts(), ids.value_rowids())
  starts, ends = (
    offsets.with_values(
      tf.cast(tf.gather(origins.values, first + offsets.values), tf.int64)
    )
    for offsets in (starts, ends)
  )
  return Tokens(ids, starts, ends)


def characters(texts: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
  """Returns how many characters begin before a byte of a text.

  Args:
    texts: string [m], UTF-8.
    places: Byte offsets, int64 [m].

  Returns:
    int32 [m].
  """
  before = tf.strings.substr(texts, tf.zeros_like(places), places, unit='BYTE')
  return tf.strings.length(before, unit='UTF8_CHAR')


def normalize_answers(texts: tf.Tensor) -> tf.Tensor:
  """Returns strings as exact match compares them, U+FFFD for NUL, string [m].

  See `answers.normalize_answer`. Letters of which Python's lower case is not
  ICU's, and words that touch a, an or the in another script without a space,
  are all that may come out differently.
  """
  texts = tf.strings.regex_replace(texts, r'\x00', '\ufffd')  # It ends `lower`.
  texts = tf.strings.lower(tf_text.normalize_utf8(texts, 'NFD'), 'utf-8')
  texts = tf.strings.regex_replace(texts, _PUNCTUATION, '')
  texts = tf.strings.regex_replace(texts, _ARTICLES, ' ')
  texts = tf.strings.regex_replace(texts, _SPACES, ' ')
  return tf.strings.regex_replace(texts, '^ | $', '')


def _pad(ids, length):
  padded = ids[:, :length].to_tensor(shape=[None, length])
  return tf.ensure_shape(padded, [None, length])
