"""The result of all importers, and its checks."""

from typing import NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import safetensors_files
from realm_tf.exchange import sentence_transformers

ONE_TOWER = (
  'The source has only the embedder of queries, which also serves blocks. Add '
  'the pre-trained embedder to --source before you embed blocks again.'
)
_MAX_PADDING = 128  # Rows. Some tables are padded to a multiple of 128 or less.


class Imported(NamedTuple):
  """An imported model.

  Attributes:
    model: Config with the sizes of the weights, without prompts.
    arrays: Values by our names, for `RealmModel.load`.
    embeddings: Embeddings of the blocks, if any.
    blocks_file: Texts of the blocks, for `block_texts`, if any.
    notes: Sentences for the user.
    settings: Prompts and maximum length of embedded texts.
  """

  model: config_lib.ModelConfig
  arrays: dict[str, np.ndarray]
  report: hugging_face_names.Report
  finetuning: config_lib.FinetuningConfig = config_lib.FinetuningConfig()
  embeddings: Optional[safetensors_files.Rows] = None
  blocks_file: Optional[str] = None
  vocab_file: Optional[str] = None
  notes: tuple[str, ...] = ()
  settings: sentence_transformers.Settings = sentence_transformers.Settings()


class Given(NamedTuple):
  """The user's choices, in place of the source's own files and defaults."""

  vocab_file: Optional[str] = None
  blocks_file: Optional[str] = None
  num_heads: Optional[int] = None


NOTHING = Given()


def check_whole(report: hugging_face_names.Report, source: str) -> None:
  """Raises UserError if an encoder or a head is incomplete."""
  # Many files lack the pooler; training starts it from random weights.
  lacking = [n for n in report.missing if '/pooler_transform/' not in n]
  if lacking:
    raise errors.UserError(
      f'{source} must hold a whole BERT encoder, and whole heads. It lacks '
      f'{len(lacking)} values, {lacking[0]} first. Check --source.'
    )


def check_vocabulary(
  model: config_lib.ModelConfig, num_pieces: int, vocab_file: str
) -> None:
  """Raises UserError unless vocabulary and word embeddings have one size."""
  for bert in (model.embedder_bert, model.reader_bert):
    if not 0 <= bert.vocab_size - num_pieces < _MAX_PADDING:
      raise errors.UserError(
        'The vocabulary must fit the weights. Found '
        f'{bert.vocab_size} word embeddings and {num_pieces} lines in '
        f'{vocab_file}. Give the right --vocab_file.'
      )
