"""Tokenizes text into wordpieces, with character offsets into the original.

BERT's uncased tokenization: lower-case, strip accents, split at white space and
punctuation, then greedily into wordpieces. See `string_tensors` for graphs.
"""

import collections
from collections.abc import Iterable, Sequence
import hashlib
import itertools
from typing import NamedTuple, Optional

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text
from tensorflow_text.python.ops import bert_tokenizer
from tensorflow_text.tools.wordpiece_vocab import (
  wordpiece_tokenizer_learner_lib as learner,
)

from realm_tf import errors

PAD, UNK, CLS, SEP, MASK = '[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'
_SPECIALS = (PAD, UNK, CLS, SEP, MASK)
_CONTINUATION = '##'
_LEARNING_BATCH = 1024  # Number of texts whose words are counted at once.
_MAX_LEARNING_WORDS = 50_000  # Bounds the learner's time.


class Tokens(NamedTuple):
  """The L wordpieces of a string; piece i is text[starts[i]:ends[i]].

  Attributes:
    ids: int32 [L].
    starts: int32 [L].
    ends: int32 [L], above `starts`. If a character expands to several pieces
      ('…' is three dots), each piece covers that character.
  """

  ids: np.ndarray
  starts: np.ndarray
  ends: np.ndarray

  def span(self, start: int, end: int) -> Optional[tuple[int, int]]:
    """Returns the pieces [first, stop) of exactly the characters [start, end).

    White space at the edges is ignored. Returns None if an edge cuts a piece or
    no piece lies inside.
    """
    first = int(np.searchsorted(self.ends, start, side='right'))
    stop = int(np.searchsorted(self.starts, end, side='left'))
    if first >= stop:
      return None
    if self.starts[first] < start or self.ends[stop - 1] > end:
      return None
    return first, stop

  def characters(self, first: int, stop: int) -> tuple[int, int]:
    """Returns the characters (start, end) of pieces [first, stop)."""
    return int(self.starts[first]), int(self.ends[stop - 1])


class WordpieceTokenizer:
  """Tokenizes with BERT's uncased rules; adds no [CLS] or [SEP].

  Args:
    vocabulary: Pieces in the order of their ids, '[PAD]' first; it must contain
      [UNK], [CLS], [SEP] and [MASK].

  Attributes:
    special_ids: Ids of [CLS] and [SEP], for `records.joining`.
    normalizer: Op of tensorflow_text that lower-cases and strips accents.
    wordpieces: Op of tensorflow_text from normalized text to ids.
  """

  def __init__(self, vocabulary: Sequence[str]):
    self.vocabulary = tuple(vocabulary)
    _check_vocabulary(self.vocabulary, 'The vocabulary')
    text = ''.join(piece + '\n' for piece in self.vocabulary)
    self.vocabulary_sha256 = hashlib.sha256(text.encode('utf-8')).hexdigest()
    self.pad_id, self.unk_id, self.cls_id, self.sep_id, self.mask_id = (
      self.vocabulary.index(special) for special in _SPECIALS
    )
    self.special_ids = self.cls_id, self.sep_id
    self._continues = np.array(
      [piece.startswith(_CONTINUATION) for piece in self.vocabulary]
    )  # [V]
    # The two halves of FastBertTokenizer, which spends most of its time on
    # tracing offsets through ragged gathers.
    self.normalizer = tf_text.FastBertNormalizer(
      lower_case_nfd_strip_accents=True
    )
    self.wordpieces = tf_text.FastWordpieceTokenizer(
      self.vocabulary, token_out_type=tf.int32
    )

  @classmethod
  def from_file(cls, path: str) -> 'WordpieceTokenizer':
    """Reads BERT's vocab.txt, one piece per line."""
    if not tf.io.gfile.exists(path) or tf.io.gfile.isdir(path):
      raise errors.UserError(
        f'The vocabulary must be a file with one wordpiece per line; {path} '
        'is not there. Give another --vocab_file.'
      )
    with tf.io.gfile.GFile(path, 'rb') as file:
      lines = file.read().decode('utf-8').split('\n')
    pieces = [line.rstrip('\r') for line in lines]
    while pieces and not pieces[-1]:
      pieces.pop()
    _check_vocabulary(pieces, path)
    return cls(pieces)

  @property
  def vocab_size(self) -> int:
    return len(self.vocabulary)

  def tokenize(self, text: str) -> Tokens:
    return self.tokenize_batch([text])[0]

  def tokenize_batch(self, texts: Sequence[str]) -> list[Tokens]:
    """Tokenizes `texts` in one TensorFlow call."""
    if not texts:
      return []
    encoded = _encode(texts)
    normalized, origins = self.normalizer.normalize_with_offsets(
      tf.constant(encoded)
    )
    ids, starts, ends = self.wordpieces.tokenize_with_offsets(normalized)
    splits, ids = ids.row_splits.numpy(), ids.values.numpy()
    characters = _characters(encoded, origins)  # For each normalized byte.
    first = np.repeat(origins.row_splits.numpy()[:-1], np.diff(splits))  # [T]
    starts = characters[first + starts.values.numpy()]
    # If a character expands, only its last piece has a width.
    ends = np.maximum(characters[first + ends.values.numpy()], starts + 1)
    return [
      Tokens(ids[a:b], starts[a:b], ends[a:b])
      for a, b in zip(splits[:-1], splits[1:])
    ]

  def token_ids_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
    """Returns only the ids of each text, int32 [L]."""
    if not texts:
      return []
    ids = self.wordpieces.tokenize(
      self.normalizer.normalize(tf.constant(_encode(texts)))
    )
    splits, values = ids.row_splits.numpy(), ids.values.numpy()
    return [values[a:b] for a, b in zip(splits[:-1], splits[1:])]

  def continuation(self, ids: np.ndarray) -> np.ndarray:
    """Returns whether each piece continues the word of the one before it."""
    return self._continues[ids]

  def word_starts(self, tokens: Tokens) -> np.ndarray:
    """Returns whether each of the L pieces begins a word, bool [L]."""
    starts = ~self.continuation(tokens.ids)
    # '…' becomes three dots, of which only the first begins a word.
    starts[1:] &= tokens.starts[1:] >= tokens.ends[:-1]
    return starts

  def detokenize(self, ids: Iterable[int]) -> str:
    """Joins pieces to words, for logs only: 'u.s.' becomes 'u . s .'."""
    text = ' '.join(self.vocabulary[i] for i in ids if i != self.pad_id)
    return text.replace(' ' + _CONTINUATION, '')


def learn_vocabulary(texts: Iterable[str], size: int) -> list[str]:
  """Learns at most `size` wordpieces with TensorFlow Text's learner.

  The result is deterministic: specials, characters, then other pieces by
  descending frequency.

  Args:
    texts: Texts, read once.
    size: Upper bound of the vocabulary, specials included.
  """
  counts = _count_words(texts)
  if not counts:
    raise errors.UserError(
      'A vocabulary is learned from words. Found none in the texts. Check '
      '--input, or give a --vocab_file.'
    )
  by_count = sorted(counts.values(), reverse=True)
  # The learner bisects the minimum count of a piece. At this bound words alone
  # fill the vocabulary; starting here and not at the count of 'the' halves the
  # number of rounds.
  upper = by_count[min(size // 4, len(by_count) - 1)]
  vocabulary = learner.learn(
    sorted(counts.items()),
    size,
    list(_SPECIALS),
    upper_thresh=max(upper, 2),
    lower_thresh=2,
    max_input_tokens=_MAX_LEARNING_WORDS,
    # A character takes two pieces; leaves room beside those of foreign scripts.
    max_unique_chars=max(100, min(1000, size // 20)),
  )
  return vocabulary[:size]


def _count_words(texts: Iterable[str]) -> dict[str, int]:
  splitter = bert_tokenizer.BasicTokenizer(lower_case=True)
  counts, texts = collections.Counter(), iter(texts)
  while batch := list(itertools.islice(texts, _LEARNING_BATCH)):
    words = splitter.tokenize(tf.constant(_encode(batch)))
    counts.update(words.values.numpy().tolist())
  return {word.decode('utf-8', 'replace'): n for word, n in counts.items()}


def _check_vocabulary(pieces: Sequence[str], name: str):
  """Raises UserError unless `pieces` is a usable vocabulary."""
  if not pieces or pieces[0] != PAD:
    found = repr(pieces[0]) if pieces else 'nothing'
    raise errors.UserError(
      f"{name} must begin with '[PAD]', as padding has id 0; it begins with "
      f'{found}. Use a BERT vocabulary (vocab.txt).'
    )
  missing = [special for special in _SPECIALS if special not in pieces]
  if missing:
    raise errors.UserError(
      f'{name} must have the pieces {", ".join(_SPECIALS)}; it lacks '
      f'{", ".join(missing)}. Use a BERT vocabulary (vocab.txt).'
    )
  seen = set()
  for line, piece in enumerate(pieces, 1):
    if not piece or piece in seen:
      raise errors.UserError(
        f'{name} must have a different piece on every line; line {line} is '
        f'{"empty" if not piece else f"{piece!r} again"}.'
      )
    seen.add(piece)


def _encode(texts: Sequence[str]) -> list[bytes]:
  # Replaces lone surrogates, which JSON may hold, by '?'.
  return [text.encode('utf-8', 'replace') for text in texts]


def _characters(encoded: Sequence[bytes], origins: tf.RaggedTensor):
  """Converts byte offsets in the original strings to character offsets.

  Args:
    encoded: B original strings, UTF-8.
    origins: Byte offset of each normalized byte, int64 [B, (normalized bytes +
      1)].

  Returns:
    Character offsets, int32, flat like origins.values.
  """
  lengths = np.array([len(text) for text in encoded], np.int64)
  first_byte = np.cumsum(lengths) - lengths  # [B]
  joined = np.frombuffer(b''.join(encoded), np.uint8)
  is_first = (joined & 0xC0) != 0x80  # First byte of a character.
  num_before = np.concatenate([[0], np.cumsum(is_first, dtype=np.int32)])
  first_byte = np.repeat(first_byte, np.diff(origins.row_splits.numpy()))
  return (
    num_before[first_byte + origins.values.numpy()] - num_before[first_byte]
  ).astype(np.int32)
