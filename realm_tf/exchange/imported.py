"""Parts of a model, from several files -> the result of all importers.

A release holds a model in parts: Embed_input, the reader and the embeddings of
the blocks are one, and Embed_doc, which fine-tuning freezes (Section 3.3), is
another.
"""

from collections.abc import Sequence
import dataclasses
from typing import NamedTuple

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_files
from realm_tf.exchange import sentence_transformers
from realm_tf.model import weights

_ONE_TOWER = (
  'The source has only the embedder of queries, which also serves blocks. Add '
  'the pre-trained embedder to --source before you embed blocks again.'
)


class Imported(NamedTuple):
  """An imported model, or a part of one, from a directory or a checkpoint.

  Attributes:
    model: Config with the sizes of the weights, without prompts.
    arrays: Values by our names, for `RealmModel.load`. The names of an embedder
      that may serve queries and blocks begin with 'shared_'.
    embeddings: Embeddings of the blocks, if any.
    blocks_file: Texts of the blocks, for `block_texts`, if any.
    notes: Sentences for the user.
    settings: Prompts and maximum length of embedded texts.
    path: Source of a part, for errors.
    is_tuned: Whether a part has an embedder of queries and a reader.
  """

  model: config_lib.ModelConfig
  arrays: dict[str, np.ndarray]
  report: weights.LoadReport  # As `hugging_face_names.convert` returns it.
  finetuning: config_lib.FinetuningConfig = config_lib.FinetuningConfig()
  embeddings: hugging_face_files.Rows | np.ndarray | None = None
  blocks_file: str | None = None
  vocab_file: str | None = None
  notes: tuple[str, ...] = ()
  settings: sentence_transformers.Settings = sentence_transformers.Settings()
  path: str = ''
  is_tuned: bool = False

  def require_vocabulary(self) -> str:
    """Returns the vocabulary's file; UserError without one."""
    if not self.vocab_file:
      raise errors.UserError(
        'The source must have the vocabulary of the weights, vocab.txt. Found '
        'none. Give it as --vocab_file.'
      )
    return self.vocab_file

  def has(self, tower: str) -> bool:
    return any(name.startswith(f'{tower}_bert/') for name in self.arrays)


class Given(NamedTuple):
  """The user's choices, in place of the source's own files and defaults."""

  vocab_file: str | None = None
  blocks_file: str | None = None
  num_heads: int | None = None


NOTHING = Given()


def join(parts: Sequence[Imported], given: Given) -> Imported:
  """Joins the parts of one model; UserError for duplicate parts.

  Fine-tuning changes only Embed_input: beside a tuned part, another embedder
  embeds the blocks.
  """
  embedders = [part for part in parts if part.has('shared')]
  scorers = [part for part in parts if part.has('query')]
  readers = [part for part in parts if part.has('reader')]
  indexes = [part for part in parts if part.embeddings is not None]
  num_tuned = sum(part.is_tuned for part in embedders)
  is_pair = num_tuned == 1 and len(embedders) == 2
  alike = [] if is_pair else embedders + scorers
  _check_single(embedder=alike, reader=readers, index=indexes)
  arrays = {}
  for part in parts:
    own = 'query' if part.is_tuned else 'block'
    for name, value in part.arrays.items():
      if is_pair and name.startswith('shared_'):
        name = own + name.removeprefix('shared')
      arrays[name] = value
  embedder = (embedders + scorers + readers)[0]
  reader = readers[0] if readers else embedder
  model = dataclasses.replace(
    reader.model,
    embedder_bert=embedder.model.embedder_bert,
    embedder=embedder.model.embedder,
  )
  if any(name.startswith('block_') for name in arrays):
    towers = dataclasses.replace(model.embedder, shared_towers=False)
    model = dataclasses.replace(model, embedder=towers)
  used, missing, left_over = (
    {name for names in field for name in names}
    for field in zip(*(part.report for part in parts))
  )
  notes = (_ONE_TOWER,) if num_tuned and not is_pair else ()
  return embedder._replace(
    model=model,
    arrays=arrays,
    report=weights.LoadReport(
      sorted(used), sorted(missing), sorted(left_over - used)
    ),
    finetuning=reader.finetuning,
    embeddings=indexes[0].embeddings if indexes else None,
    blocks_file=_first(given.blocks_file, [p.blocks_file for p in parts]),
    vocab_file=_first(given.vocab_file, [p.vocab_file for p in parts]),
    notes=(*notes, *embedder.notes),
  )


def _first(given: str | None, found: list[str | None]) -> str | None:
  return next(filter(None, [given, *found]), None)


def _check_single(**parts: Sequence[Imported]) -> None:
  for what, found in parts.items():
    if len(found) > 1:
      raise errors.UserError(
        f'There must be one {what}. Found '
        f'{" and ".join(sorted(part.path for part in found))}. Give the parts '
        'of one model as --source, with commas.'
      )
