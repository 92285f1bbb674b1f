"""Defines what every importer returns, and checks it."""

from collections.abc import Callable
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import sentence_settings

ONE_TOWER = (
  'The embedder is that of the queries. What embedded the blocks is not there, '
  'so it stands in: add the pre-trained embedder to --source before blocks are '
  'embedded anew.'
)
_MAX_PADDING = 128  # Rows; some pad the table to a multiple of up to this.


class Rows:
  """Embeddings of blocks, float32 [N, D], which are read by slices.

  The authors' block embeddings take 6.84 GB (Section 3.3): an index takes them
  shard by shard.

  Args:
    shape: (N, D).
    read: Returns the rows of a slice.
    path: File of the rows, for errors.
  """

  def __init__(
    self, shape: tuple[int, int], read: Callable[[slice], np.ndarray], path: str
  ):
    self.shape = shape
    self._read = read
    self._path = path

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: slice) -> np.ndarray:
    """Reads a slice without step, float32 [n, D]."""
    start, stop, _ = rows.indices(len(self))
    if start >= stop:
      return np.zeros([0, self.shape[1]], np.float32)
    values = self._read(slice(start, stop))
    if not np.isfinite(values).all():
      raise errors.UserError(
        f'Embeddings must be finite. Found NaN or infinity in rows {start} to '
        f'{stop} of {self._path}. Copy it again.'
      )
    return values


class Imported(NamedTuple):
  """A model from elsewhere.

  Attributes:
    model: Config with the sizes of the weights; `text_lengths` adds prompts.
    arrays: Values by our names, for `RealmModel.load`.
    report: Use made of the source's weights.
    finetuning: How the reader reads blocks.
    embeddings: Embeddings of the blocks; None if the source has none.
    blocks_file: Texts of the blocks, for `block_texts`, if there are any.
    vocab_file: Vocabulary, if there is one.
    notes: Sentences for the user.
    settings: Prompts and length that texts are embedded with.
  """

  model: config_lib.ModelConfig
  arrays: dict[str, np.ndarray]
  report: hugging_face_names.Report
  finetuning: config_lib.FinetuningConfig = config_lib.FinetuningConfig()
  embeddings: Optional[Rows] = None
  blocks_file: Optional[str] = None
  vocab_file: Optional[str] = None
  notes: tuple[str, ...] = ()
  settings: sentence_settings.Settings = sentence_settings.Settings()


class Given(NamedTuple):
  """Choices of a user besides --source.

  Attributes:
    vocab_file: Vocabulary instead of the source's own.
    blocks_file: Texts of the blocks instead of the source's own.
    num_heads: Attention heads, if the source does not say; by default one for
      each 64 of width.
  """

  vocab_file: Optional[str] = None
  blocks_file: Optional[str] = None
  num_heads: Optional[int] = None


NOTHING = Given()


def check_whole(report: hugging_face_names.Report, source: str) -> None:
  """Raises UserError unless encoders and heads are whole."""
  # Many files lack the pooler; training starts it anew where a head reads it.
  lacking = [n for n in report.missing if '/pooler_transform/' not in n]
  if lacking:
    raise errors.UserError(
      f'{source} must hold a whole BERT encoder, and whole heads. It lacks '
      f'{len(lacking)} values, {lacking[0]} first. Check --source.'
    )


def check_vocabulary(
  model: config_lib.ModelConfig, num_pieces: int, vocab_file: str
) -> None:
  """Raises UserError unless the word embeddings are of the vocabulary."""
  for bert in (model.embedder_bert, model.reader_bert):
    if not 0 <= bert.vocab_size - num_pieces < _MAX_PADDING:
      raise errors.UserError(
        'The vocabulary must be that of the weights. Found '
        f'{bert.vocab_size} word embeddings and {num_pieces} lines in '
        f'{vocab_file}. Give the right --vocab_file.'
      )
