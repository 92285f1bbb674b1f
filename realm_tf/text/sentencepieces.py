"""T5's tokenizer: text <-> ids of SentencePiece pieces."""

from collections.abc import Sequence
import hashlib

import numpy as np
import tensorflow as tf
import tensorflow_text as tf_text

from realm_tf import errors
from realm_tf import input_files

_PAD, _END = '<pad>', '</s>'


class SentencepieceTokenizer:
  """Tokenizes as T5 does (Raffel et al. 2020, Section 2.2); cased.

  `model` is a serialized SentencePiece model. `special_ids` are the ids of an
  output's start (<pad>) and end (</s>).
  """

  is_inner = None  # No answer is a span of these pieces.

  def __init__(self, model: bytes):
    self._pieces = tf_text.SentencepieceTokenizer(model, tf.int32)
    self.vocab_size = int(self._pieces.vocab_size())
    begin, end = map(self._pieces.string_to_id, (_PAD, _END))
    self.special_ids = int(begin), int(end)
    self.vocabulary_sha256 = hashlib.sha256(model).hexdigest()

  @classmethod
  def from_file(cls, path: str) -> 'SentencepieceTokenizer':
    """Reads a spiece.model; UserError if the file is another one."""
    model = input_files.read(path)
    try:
      return cls(model)
    except (tf.errors.OpError, RuntimeError) as error:
      raise errors.UserError(
        f'{path} must be a SentencePiece model. Found: {error}. Copy it again.'
      ) from error

  def token_ids_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
    """Returns the ids of each text, int32 [L], without </s>."""
    if not texts:
      return []
    ids = self._pieces.tokenize(tf.constant(list(texts)))
    splits, values = ids.row_splits.numpy(), ids.values.numpy()
    return [values[a:b] for a, b in zip(splits[:-1], splits[1:])]

  def detokenize(self, ids: Sequence[int]) -> str:
    """Returns the text of ids; ids without a piece are left out."""
    # T5 has a few more embeddings than pieces.
    known = [int(i) for i in ids if i < self.vocab_size]
    text = self._pieces.detokenize(tf.constant(known, tf.int32))
    return text.numpy().decode()
