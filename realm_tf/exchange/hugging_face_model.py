"""Joins Hugging Face directories into one model with its index.

RealmForOpenQA holds Embed_input, the reader and the embeddings of the blocks.
Embed_doc, which fine-tuning freezes (Section 3.3), is a separate directory.
"""

from collections.abc import Iterator, Sequence
import dataclasses
import os
from typing import Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.exchange import t5
from realm_tf.text import tokenizer_files

_RECORDS = 'block_records.npy'

_Parts = Sequence[hugging_face.Directory]


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads the parts of a model from comma-separated directories.

  Missing, damaged and duplicate parts raise UserError.
  """
  directories = [each for each in source.split(',') if each]
  if len(directories) == 1 and t5.is_t5(directories[0]):
    return t5.load_imported(directories[0], given)
  parts = [hugging_face.read(directory) for directory in directories]
  if not parts:
    raise errors.UserError(
      '--source=hf:DIR must name a directory. Found none. Give one with '
      'config.json, model.safetensors and vocab.txt.'
    )
  arrays, notes = _merge(parts)
  indexed = [part for part in parts if part.rows is not None]
  if len(indexed) > 1:
    raise _found_twice('index', indexed)
  without_reader = next((p for p in parts if not p.has('reader')), parts[0])
  embedder = next((p for p in parts if p.has('shared')), without_reader)
  reader = next((p for p in parts if p.has('reader')), embedder)
  return imported.Imported(
    _model_config(reader.model, embedder.model, arrays),
    arrays,
    hugging_face_names.Report(
      *(
        sorted({n for part in parts for n in getattr(part.report, field)})
        for field in hugging_face_names.Report._fields
      )
    ),
    reader.finetuning,
    indexed[0].rows if indexed else None,
    given.blocks_file or _blocks_file(parts),
    given.vocab_file or _vocabulary(parts),
    (*notes, *_notes(embedder)),
    embedder.recipe.settings,
  )


def _blocks_file(parts: _Parts) -> Optional[str]:
  paths = (os.path.join(part.recipe.encoder_dir, _RECORDS) for part in parts)
  return next(filter(tf.io.gfile.exists, paths), None)


def _vocabulary(parts: _Parts) -> Optional[str]:
  paths = (tokenizer_files.find(part.recipe.encoder_dir) for part in parts)
  return next(filter(None, paths), None)


def _merge(parts: _Parts) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
  """Returns the arrays of all towers, and notes for the user."""
  tuned = [part for part in parts if part.architecture == 'RealmForOpenQA']
  embedders = [part for part in parts if part.has('shared')]
  readers = [part for part in parts if part.has('reader')]
  scorers = [part for part in parts if part.has('query')]
  is_pair = len(tuned) == 1 and len(embedders) == 2
  if len(embedders) + len(scorers) > 1 and not is_pair:
    raise _found_twice('embedder', embedders + scorers)
  if len(readers) > 1:
    raise _found_twice('reader', readers)
  arrays = {}
  for part in parts:
    own = 'query' if part in tuned else 'block'
    for name, value in part.arrays.items():
      if is_pair and name.startswith('shared_'):
        name = own + name.removeprefix('shared')
      arrays[name] = value
  notes = (imported.ONE_TOWER,) if tuned and not is_pair else ()
  return arrays, notes


def _found_twice(what: str, parts: _Parts) -> errors.UserError:
  return errors.UserError(
    f'There must be one {what}. Found '
    f'{" and ".join(sorted(part.path for part in parts))}. Give the '
    'directories of one model as --source=hf:DIR,DIR.'
  )


def _model_config(
  reader: config_lib.ModelConfig,
  embedder: config_lib.ModelConfig,
  arrays: dict[str, np.ndarray],
) -> config_lib.ModelConfig:
  """Returns the reader's config with the embedder's towers."""
  has_towers = any(name.startswith('block_') for name in arrays)
  return dataclasses.replace(
    reader,
    embedder_bert=embedder.embedder_bert,
    embedder=dataclasses.replace(
      embedder.embedder,
      shared_towers=embedder.embedder.shared_towers and not has_towers,
    ),
  )


def _notes(embedder: hugging_face.Directory) -> Iterator[str]:
  """Yields notes on prompts and normalization."""
  recipe = embedder.recipe
  prompts = {
    'query': recipe.settings.query_prompt,
    'block': recipe.settings.block_prompt,
  }
  for what, prompt in prompts.items():
    if prompt:
      yield f'Each {what} gets the prompt {prompt!r}, as in training.'
  if recipe.has_modules and not recipe.normalizes:
    yield (
      'Embeddings are normalized: scores are cosines.'
      if recipe.normalize
      else 'Embeddings are not normalized: scores are inner products.'
    )
