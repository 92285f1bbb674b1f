"""Tokenizes and normalizes UTF-8 string tensors in graphs, for SavedModels."""

from typing import NamedTuple

import tensorflow as tf
import tensorflow_text as tf_text

from realm_tf.text import character_table
from realm_tf.text import wordpiece

_PUNCTUATION = r'[!-/:-@\[-`{-~]'  # string.punctuation.
_ARTICLES = r'\b(a|an|the)\b'
# White space of str.split(); RE2's \s lacks some of it.
_SPACES = r'[\s\x0b\x1c-\x1f\x{85}\p{Z}]+'


class Tokens(NamedTuple):
  """The wordpieces of n strings.

  Attributes:
    ids: Ragged int32 [n, (L)].
    starts: Ragged int64 [n, (L)], first byte of each piece in its string.
    ends: Ragged int64 [n, (L)], end byte.
  """

  ids: tf.RaggedTensor
  starts: tf.RaggedTensor
  ends: tf.RaggedTensor


class _Spelled(NamedTuple):
  """Strings that `character_table` spelled.

  Attributes:
    codes: All m characters of `texts`, int32 [m].
    origins: Index of each one's input character, int64 [m].
    actions: Actions of all input characters, ragged int32 [n, (c)].
    bytes: First byte of each input character in its string, int64, flat.
  """

  texts: tf.Tensor
  codes: tf.Tensor
  origins: tf.Tensor
  actions: tf.RaggedTensor
  bytes: tf.Tensor


def valid(texts: tf.Tensor) -> tf.Tensor:
  """Returns `texts` with U+FFFD for invalid bytes."""
  return tf.strings.unicode_transcode(texts, 'UTF-8', 'UTF-8')


def token_ids(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor, length: int
) -> tf.Tensor:
  """Returns wordpiece ids, cut or zero-padded, int32 [n, length]."""
  return _pad(_ids(tokenizer, texts), length)


def masked_token_ids(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor, length: int
) -> tf.Tensor:
  """Returns `token_ids`, with each '[MASK]' as one wordpiece."""
  parts = tf.strings.split(texts, wordpiece.MASK)  # [n, (parts)]
  ids = _ids(tokenizer, parts.values)
  mask = tf.fill([ids.nrows(), 1], tokenizer.mask_id)
  ids = parts.with_values(tf.concat([mask, ids], axis=1)).merge_dims(1, 2)
  return _pad(ids[:, 1:], length)  # Drops the [MASK] before the first part.


def tokenize(
  tokenizer: wordpiece.WordpieceTokenizer, texts: tf.Tensor
) -> Tokens:
  """Returns the wordpieces of `texts`, string [n]."""
  table = tokenizer.table
  spelled = _spell(table, texts)
  ids, starts, ends = tokenizer.wordpieces.tokenize_with_offsets(spelled.texts)
  # Converts bytes of the joined spelled strings to input characters.
  sizes = tf.strings.length(spelled.texts)
  shift = tf.gather(tf.cumsum(sizes, exclusive=True), ids.value_rowids())
  # Characters from these on take one byte more in UTF-8.
  bounds = tf.constant([0x80, 0x800, 0x10000])
  widths = 1 + tf.searchsorted(bounds, spelled.codes, side='right')
  number = tf.repeat(spelled.origins, widths)
  firsts = tf.gather(number, tf.cast(starts.values, tf.int32) + shift)
  lasts = tf.gather(number, tf.cast(ends.values, tf.int32) + shift - 1)
  # A dropped accent belongs to the character before it.
  stays = tf.where(spelled.actions.values != table.mark)[:, 0]
  stays = tf.concat([stays, [tf.size(spelled.actions.values, tf.int64)]], 0)
  stops = tf.gather(stays, tf.searchsorted(stays, lasts, side='right'))
  row_stops = tf.gather(spelled.actions.row_limits(), ids.value_rowids())
  stops = tf.minimum(stops, row_stops)
  bytes_ = tf.concat([spelled.bytes, [0]], 0)
  ends = tf.where(
    stops == row_stops,
    tf.gather(tf.cast(tf.strings.length(texts), tf.int64), ids.value_rowids()),
    tf.gather(bytes_, stops),
  )
  return Tokens(
    ids, ids.with_values(tf.gather(bytes_, firsts)), ids.with_values(ends)
  )


def characters(texts: tf.Tensor, places: tf.Tensor) -> tf.Tensor:
  """Converts byte offsets `places`, int64 [m], to characters, int32 [m]."""
  before = tf.strings.substr(texts, tf.zeros_like(places), places, unit='BYTE')
  return tf.strings.length(before, unit='UTF8_CHAR')


def normalize_answers(texts: tf.Tensor) -> tf.Tensor:
  """Returns `answers.normalize_answer` of strings, with U+FFFD for NUL.

  Results may differ for letters with another lower case in ICU than in Python,
  and for words of another script that touch a, an or the.
  """
  # `tf.strings.lower` stops at NUL.
  texts = tf.strings.regex_replace(texts, r'\x00', '\ufffd')
  texts = tf.strings.lower(tf_text.normalize_utf8(texts, 'NFD'), 'utf-8')
  texts = tf.strings.regex_replace(texts, _PUNCTUATION, '')
  texts = tf.strings.regex_replace(texts, _ARTICLES, ' ')
  texts = tf.strings.regex_replace(texts, _SPACES, ' ')
  return tf.strings.regex_replace(texts, '^ | $', '')


def _ids(tokenizer, texts):
  return tokenizer.wordpieces.tokenize(_spell(tokenizer.table, texts).texts)


def _spell(table: character_table.CharacterTable, texts: tf.Tensor) -> _Spelled:
  """Spells `texts`, string [n], as `CharacterTable.spell` does."""
  given, places = tf.strings.unicode_decode_with_offsets(texts, 'UTF-8')
  pages, rows = table.pages
  page = tf.cast(tf.gather(pages, given.values // rows.shape[1]), tf.int32)
  actions = tf.gather_nd(
    rows, tf.stack([page, given.values % rows.shape[1]], axis=1)
  )
  # Checks would take longer than the rest, in each call.
  becomes = tf.RaggedTensor.from_row_lengths(
    table.outputs, table.sizes, validate=False
  )
  becomes = tf.gather(becomes, actions)  # [c, (characters)]
  origins = becomes.value_rowids()
  text = tf.gather(given.value_rowids(), origins)
  codes = tf.cast(becomes.values, tf.int32)
  # A word above the limit becomes [UNK].
  ends = tf.gather(character_table.ENDS_WORD, tf.minimum(codes, 128))
  word = tf.cast(tf.cumsum(tf.cast(ends, tf.int64)) + text, tf.int32)
  sizes = tf.math.bincount(word, weights=tf.cast(~ends, tf.int32))
  long = tf.gather(sizes > character_table.MAX_WORD, word)
  codes = tf.where(long & ~ends, table.unknown, codes)
  spelled = tf.RaggedTensor.from_value_rowids(
    codes, text, given.nrows(), validate=False
  )
  return _Spelled(
    tf.strings.unicode_encode(spelled, 'UTF-8'),
    codes,
    origins,
    given.with_values(actions),
    places.values,
  )


def _pad(ids, length):
  padded = ids[:, :length].to_tensor(shape=[None, length])
  return tf.ensure_shape(padded, [None, length])
