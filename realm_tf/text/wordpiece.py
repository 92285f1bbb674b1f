"""Tokenizes text into wordpieces, with character offsets into the original."""

from collections.abc import Iterable, Sequence
import functools
import hashlib
from typing import NamedTuple, Optional

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from realm_tf import errors
from realm_tf.text import character_table
from realm_tf.text import tokenizer_files
from realm_tf.text import vocabulary as vocabulary_lib

PAD, UNK, CLS, SEP, MASK = vocabulary_lib.SPECIALS
_CONTINUATION = vocabulary_lib.CONTINUATION
_MAX_BYTES = 1 << 30  # No limit here: `character_table` hides long words.


class Tokens(NamedTuple):
  """The L wordpieces of a string; piece i is text[starts[i]:ends[i]].

  Attributes:
    ids: int32 [L].
    starts: int32 [L].
    ends: int32 [L], above `starts`. A dropped accent belongs to the piece
      before it. Each piece of an expanded character (Hangul) covers it.
  """

  ids: np.ndarray
  starts: np.ndarray
  ends: np.ndarray

  def span(self, start: int, end: int) -> Optional[tuple[int, int]]:
    """Returns the pieces [first, stop) of exactly the characters [start, end).

    Ignores spaces at the edges. None if an edge cuts a piece, or without one.
    """
    first = int(np.searchsorted(self.ends, start, side='right'))
    stop = int(np.searchsorted(self.starts, end, side='left'))
    if first >= stop:
      return None
    if self.starts[first] < start or self.ends[stop - 1] > end:
      return None
    return first, stop


class WordpieceTokenizer:
  """Tokenizes as BERT does, without special tokens: '[MASK]' is three words.

  Attributes:
    vocabulary: V pieces in the order of their ids, '[PAD]' first.
    vocabulary_sha256: Fingerprint of pieces and rules.
    special_ids: Ids of [CLS] and [SEP].
    is_inner: Whether each piece is inside a word, bool [V]: no answer begins
      with it, or ends before it.
    table: Normalizes texts for `wordpieces`, an op of tensorflow_text.
  """

  def __init__(
    self,
    vocabulary: Sequence[str],
    rules: character_table.CharacterRules = character_table.UNCASED,
  ):
    self.vocabulary = tuple(vocabulary)
    self.rules = rules
    vocabulary_lib.check(self.vocabulary, 'The vocabulary')
    text = ''.join(piece + '\n' for piece in self.vocabulary)
    if rules != character_table.UNCASED:
      text += f'{rules}\n'
    self.vocabulary_sha256 = hashlib.sha256(text.encode('utf-8')).hexdigest()
    self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
      self.vocabulary.index(special) for special in vocabulary_lib.SPECIALS
    )
    self.special_ids = self.cls_id, self.sep_id
    self._continues = np.array(
      [piece.startswith(_CONTINUATION) for piece in self.vocabulary]
    )  # [V]
    self.is_inner = np.array([*map(vocabulary_lib.is_inner, self.vocabulary)])
    bodies = [piece.removeprefix(_CONTINUATION) for piece in self.vocabulary]
    self.table = character_table.CharacterTable(rules, bodies)
    self.wordpieces = self._op(bodies)

  def _op(self, bodies: Sequence[str]) -> tf_text.FastWordpieceTokenizer:
    """Returns the op, with other names for pieces that no text can have."""
    pieces = [
      _CONTINUATION * goes_on + self.table.letters(body)
      if _can_match(body, goes_on, self.rules)
      else f'{character_table.NEVER}{i}'
      for i, (body, goes_on) in enumerate(
        zip(bodies, self._continues.tolist(), strict=True)
      )
    ]
    try:
      return tf_text.FastWordpieceTokenizer(
        pieces,
        max_bytes_per_word=_MAX_BYTES,
        token_out_type=tf.int32,
        unknown_token=pieces[self.unk_id],
      )
    except RuntimeError as error:
      raise errors.UserError(
        f'The vocabulary must have pieces of at most 256 bytes. Found: {error}.'
        ' Use a BERT vocabulary.'
      ) from error

  def __reduce__(self):
    """Pickles only the arguments: ops cannot be pickled."""
    return WordpieceTokenizer, (self.vocabulary, self.rules)

  @classmethod
  def from_file(cls, path: str) -> 'WordpieceTokenizer':
    """Reads vocab.txt or tokenizer.json, and the rules next to it."""
    vocabulary, rules = tokenizer_files.read(path)
    return _of(tuple(vocabulary), rules)

  @property
  def vocab_size(self) -> int:
    return len(self.vocabulary)

  def tokenize(self, text: str) -> Tokens:
    return self.tokenize_batch([text])[0]

  def tokenize_batch(self, texts: Sequence[str]) -> list[Tokens]:
    """Tokenizes `texts` in one TensorFlow call."""
    if not texts:
      return []
    spelled = self.table.spell(texts)
    encoded = spelled.codes.tobytes().decode('utf-32-le').encode('utf-8')
    ids, starts, ends = (
      part.values.numpy()
      for part in self.wordpieces.tokenize_with_offsets([encoded])
    )
    if len(encoded) > len(spelled.codes):  # Converts bytes to characters.
      is_first = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
      number = np.cumsum(is_first, dtype=np.int32) - np.int32(1)
      starts, ends = number[starts], number[ends - 1] + 1
    if spelled.origins is not None:  # To characters of the joined texts.
      starts, ends = spelled.origins[starts], spelled.origins[ends - 1] + 1
    lengths = np.array([len(text) + 1 for text in texts], np.int64)
    begins = np.append(0, np.cumsum(lengths))  # In the joined texts.
    # An end moves past the run of accents there, which share a key.
    keys = spelled.marks - np.arange(len(spelled.marks))
    first = np.searchsorted(spelled.marks, ends)
    ends = ends + np.searchsorted(keys, ends - first, 'right') - first
    splits = np.searchsorted(starts, begins)
    begins = np.repeat(begins[:-1], np.diff(splits))
    starts, ends = (
      (offsets - begins).astype(np.int32) for offsets in (starts, ends)
    )
    return [
      Tokens(ids[a:b], starts[a:b], ends[a:b])
      for a, b in zip(splits[:-1], splits[1:])
    ]

  def token_ids_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
    """Returns only the ids of each text, int32 [L]."""
    return [tokens.ids for tokens in self.tokenize_batch(texts)]

  def continuation(self, ids: np.ndarray) -> np.ndarray:
    """Returns whether each piece continues a word, bool like `ids`."""
    return self._continues[ids]

  def word_starts(self, tokens: Tokens) -> np.ndarray:
    """Returns whether each of the L pieces begins a word, bool [L]."""
    return ~self.continuation(tokens.ids)

  def detokenize(self, ids: Iterable[int]) -> str:
    """Joins pieces to words, for logs only: 'u.s.' becomes 'u . s .'."""
    text = ' '.join(self.vocabulary[i] for i in ids if i != self.pad_id)
    return text.replace(' ' + _CONTINUATION, '')


_of = functools.lru_cache(maxsize=2)(WordpieceTokenizer)


def _can_match(
  body: str, goes_on: bool, rules: character_table.CharacterRules
) -> bool:
  is_word = len(body) <= character_table.MAX_WORD and rules.is_word(body)
  # Punctuation is a word by itself and continues none.
  return is_word and (not goes_on or rules.is_word('a' + body))
