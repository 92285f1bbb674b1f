"""Tokenization and answer normalization of string tensors, inside a graph.

  string [n] -> wordpiece ids, byte offsets, character offsets, normalized text

For SavedModels, in which no Python runs; see `wordpiece` and `answers`. Strings
are UTF-8.
"""

from typing import NamedTuple

import tensorflow as tf
import tensorflow_text as tf_text

from realm_tf.text import wordpiece

_PUNCTUATION = r'[!-/:-@\[-`{-~]'  # ASCII's, as string.punctuation.
_ARTICLES = r'\b(a|an|the)\b'
# White space of str.split(); RE2's \s lacks some of it.
_SPACES = r'[\s\x0b\x1c-\x1f\x{85}\p{Z}]+'


class Tokens(NamedTuple):
  """The wordpieces of n strings.

  Attributes:
    ids: Ragged int32 [n, (L)].
    starts: Ragged int64 [n, (L)], first byte of each piece in its string.
    ends: Ragged int64 [n, (L)], end byte. If a character expands to several
      pieces, all but the last are empty.
  """

  ids: tf.RaggedTensor
  starts: tf.RaggedTensor
  ends: tf.RaggedTensor


def valid(texts: tf.Tensor) -> tf.Tensor:
  """Returns strings of any bytes as UTF-8, with U+FFFD for invalid bytes."""
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
  """Returns `token_ids` of strings in which '[MASK]' is a wordpiece."""
  parts = tf.strings.split(texts, wordpiece.MASK)  # [n, (parts)]
  ids = tokenizer.wordpieces.tokenize(
    tokenizer.normalizer.normalize(parts.values)
  )
  mask = tf.fill([ids.nrows(), 1], tokenizer.mask_id)
  ids = parts.with_values(tf.concat([mask, ids], axis=1)).merge_dims(1, 2)
  return _pad(ids[:, 1:], length)  # Drops the [MASK] before the first part.


def tokenize(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor
) -> Tokens:
  """Returns the wordpieces of `texts`, string [n], with byte offsets."""
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
  """Converts byte offsets `places`, int64 [m], to characters, int32 [m]."""
  before = tf.strings.substr(texts, tf.zeros_like(places), places, unit='BYTE')
  return tf.strings.length(before, unit='UTF8_CHAR')


def normalize_answers(texts: tf.Tensor) -> tf.Tensor:
  """Returns `answers.normalize_answer` of strings, with U+FFFD for NUL.

  The result may differ only for letters whose lower case differs between
  Python and ICU, and for words that touch a, an or the in another script.
  """
  # `lower` stops at NUL.
  texts = tf.strings.regex_replace(texts, r'\x00', '\ufffd')
  texts = tf.strings.lower(tf_text.normalize_utf8(texts, 'NFD'), 'utf-8')
  texts = tf.strings.regex_replace(texts, _PUNCTUATION, '')
  texts = tf.strings.regex_replace(texts, _ARTICLES, ' ')
  texts = tf.strings.regex_replace(texts, _SPACES, ' ')
  return tf.strings.regex_replace(texts, '^ | $', '')


def _pad(ids, length):
  padded = ids[:, :length].to_tensor(shape=[None, length])
  return tf.ensure_shape(padded, [None, length])
