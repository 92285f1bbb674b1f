"""Defines what every importer returns, and checks it."""

from collections.abc import Collection
import dataclasses
from typing import NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import sentence_settings

ONE_TOWER = (
  'The embedder is that of the queries. What embedded the blocks is not there, '
  'so it stands in: add the pre-trained embedder to --source before blocks are '
  'embedded anew.'
)
# Of BERT, and of the embedder's head in Hugging Face's port of REALM.
LAYER_NORM_EPSILON = 1e-12
_MIN_TOKENS = 5  # [CLS] title [SEP] body [SEP].
_MAX_PADDING = 128  # Rows; some pad the table to a multiple of up to this.
_DENSE, _NORM = ('kernel', 'bias'), ('gamma', 'beta')
# The heads, by our names: all of one, or none.
_EMBEDDER_HEAD = {'projection': _DENSE, 'layer_norm': _NORM}
_HEADS: dict[str, dict] = {
  **{
    f'{tower}_embedder': _EMBEDDER_HEAD
    for tower in ('shared', 'query', 'block')
  },
  'masked_lm': {
    'transform/dense': _DENSE,
    'transform/LayerNorm': _NORM,
    'output_bias': ('bias',),
  },
  'span_reader': {'projection': _DENSE, 'layer_norm': _NORM, 'score': _DENSE},
}


class FileRows:
  """Rows of a float32 matrix [N, D] in a file, read when asked for.

  The authors' block embeddings take 6.84 GB (Section 3.3): they are copied to
  an index shard by shard and are never in memory whole.

  Args:
    path: File, on any file system.
    offset: First byte of the first row.
    shape: (N, D).

  Raises:
    UserError: The file ends before the last row.
  """

  dtype = np.dtype('<f4')

  def __init__(self, path: str, offset: int, shape: tuple[int, int]):
    self.shape = shape
    self._path = path
    self._offset = offset
    self._row_bytes = shape[1] * self.dtype.itemsize
    expected = offset + shape[0] * self._row_bytes
    found = tf.io.gfile.stat(path).length
    if found < expected:
      raise errors.UserError(
        f'{path} must have {expected} bytes for {shape[0]} rows of {shape[1]}. '
        f'Found {found}: it is cut off. Copy it again.'
      )

  def __len__(self) -> int:
    return self.shape[0]

  def __getitem__(self, rows: slice) -> np.ndarray:
    """Reads a slice without step, float32 [n, D]."""
    start, stop, _ = rows.indices(len(self))
    with tf.io.gfile.GFile(self._path, 'rb') as file:
      file.seek(self._offset + start * self._row_bytes)
      data = file.read(max(0, stop - start) * self._row_bytes)
    values = np.frombuffer(data, self.dtype).reshape(-1, self.shape[1])
    if not np.isfinite(values).all():
      raise errors.UserError(
        f'Embeddings must be finite. Found NaN or infinity in rows {start} to '
        f'{stop} of {self._path}. Copy it again.'
      )
    return values


class Imported(NamedTuple):
  """A model from elsewhere.

  Attributes:
    config: Config with the sizes of the weights.
    arrays: Values by our names, for `RealmModel.load`.
    report: Use made of the source's weights.
    embeddings: Embeddings of the blocks, float32 [N, D], sliceable; None if
      the source has none.
    blocks_file: Texts of the blocks, for `block_texts`, if there are any.
    vocab_file: Vocabulary, if there is one.
    notes: Sentences for the user.
    settings: Prompts and length that texts are embedded with.
  """

  config: config_lib.ExperimentConfig
  arrays: dict[str, np.ndarray]
  report: hugging_face_names.Report
  embeddings: Optional[FileRows | np.ndarray] = None
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


def experiment_config(
  model: config_lib.ModelConfig,
  finetuning: Optional[config_lib.FinetuningConfig] = None,
  max_length: Optional[int] = None,
) -> config_lib.ExperimentConfig:
  """Returns the paper's config, its lengths cut to what the model takes.

  Args:
    finetuning: The paper's without it.
    max_length: Longest text that is embedded, with its prompt, [CLS] and [SEP];
      None for all positions of the encoder.

  Raises:
    UserError: There is no room for a text.
  """
  lengths = config_lib.LengthConfig()
  positions = min(
    model.embedder_bert.max_positions, model.reader_bert.max_positions
  )
  longest = min(positions, max_length or positions)
  embedder = model.embedder
  block_tokens = _room(lengths.block_tokens, longest, embedder.block_prompt)
  query_tokens = _room(lengths.query_tokens, longest, embedder.query_prompt)
  joint_tokens = min(lengths.joint_tokens, positions)
  if joint_tokens < lengths.joint_tokens:
    query_tokens = min(query_tokens, joint_tokens // 2)
  lengths = config_lib.LengthConfig(
    query_tokens=query_tokens,
    block_tokens=block_tokens,
    joint_tokens=joint_tokens,
    question_tokens=min(lengths.question_tokens, query_tokens),
    title_tokens=min(lengths.title_tokens, block_tokens // 4),
  )
  finetuning = finetuning or config_lib.FinetuningConfig()
  finetuning = dataclasses.replace(
    finetuning, joint_tokens=min(finetuning.joint_tokens, positions)
  )
  return config_lib.ExperimentConfig(
    model=model, lengths=lengths, finetuning=finetuning
  )


def _room(tokens: int, longest: int, prompt: str) -> int:
  """Returns the length of a text that has a prompt besides."""
  room = longest - len(prompt.split())
  if room < _MIN_TOKENS:
    raise errors.UserError(
      f'A model must take texts of {_MIN_TOKENS} wordpieces. Found a maximal '
      f'length of {longest}, prompt included, which leaves {room}. Choose '
      'another model.'
    )
  return min(tokens, room)


def check_whole(
  report: hugging_face_names.Report, arrays: Collection[str], source: str
) -> None:
  """Raises UserError unless encoders and heads are whole."""
  # A pooler is often dropped, and then trained anew where it is needed.
  lacking = [n for n in report.missing if '/pooler_transform/' not in n]
  for head, layers in _HEADS.items():
    if any(name.startswith(f'{head}/') for name in arrays):
      wanted = {
        f'{head}/{layer}/{end}'
        for layer, ends in layers.items()
        for end in ends
      }
      lacking += sorted(wanted - set(arrays))
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
