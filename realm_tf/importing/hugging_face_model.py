"""Joins Hugging Face directories into one model with its index.

  DIR, or QA_DIR,EMBEDDER_DIR -> [this file] -> Imported

RealmForOpenQA holds the embedder of the queries, the reader and the embeddings
of the blocks. What embedded the blocks, Embed_doc before fine-tuning (Section
3.3), is a directory of its own.
"""

from collections.abc import Sequence
import dataclasses
import functools
import os
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import bert_file
from realm_tf.importing import hugging_face
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import safetensors_files
from realm_tf.importing import sentence_modules
from realm_tf.importing import sentence_settings
from realm_tf.importing import t5
from realm_tf.text import tokenizer_files

_RECORDS = 'block_records.npy'


class _Part(NamedTuple):
  """Contents of one directory; see `hugging_face.load_bert`."""

  directory: str
  architecture: str
  arrays: dict[str, np.ndarray]
  report: hugging_face_names.Report

  def has(self, tower: str) -> bool:
    return any(name.startswith(f'{tower}_bert/') for name in self.arrays)


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads all parts of a model.

  Args:
    source: Directories with commas between them.
    given: Choices of the user.

  Raises:
    UserError: Something is missing, damaged, or there twice.
  """
  directories = [each for each in source.split(',') if each]
  if len(directories) == 1 and t5.is_t5(directories[0]):
    return t5.load_imported(directories[0], given)
  parts = [_read(directory) for directory in directories]
  if not parts:
    raise errors.UserError(
      '--source=hf:DIR must name a directory. Found none. Give one with '
      'config.json, model.safetensors and vocab.txt.'
    )
  arrays, notes = _merge(parts)
  reports = [part.report for part in parts]
  rows = [
    (part.directory, found)
    for part in parts
    if (found := _rows(part.directory)) is not None
  ]
  if len(rows) > 1:
    raise _found_twice('index', [directory for directory, _ in rows])
  embedder = _embedder(parts)
  settings = hugging_face.settings(embedder.directory)
  return imported.Imported(
    _config(parts, arrays, settings.max_length),
    arrays,
    hugging_face_names.Report(
      *(
        sorted({name for report in reports for name in getattr(report, field)})
        for field in hugging_face_names.Report._fields
      )
    ),
    rows[0][1] if rows else None,
    given.blocks_file or _beside(parts, _RECORDS),
    given.vocab_file or _vocabulary(parts),
    (*notes, *_notes(embedder.directory, settings)),
    settings,
  )


def _read(directory: str) -> _Part:
  found = bert_file.read(directory)
  arrays, report = hugging_face.load_bert(directory)
  if _rows(directory) is not None:
    report = report._replace(
      used=sorted([*report.used, hugging_face.BLOCK_EMBEDDINGS])
    )
  return _Part(directory, bert_file.architecture(found), arrays, report)


def _rows(directory):
  return safetensors_files.rows(
    sentence_modules.encoder_dir(directory), hugging_face.BLOCK_EMBEDDINGS
  )


def _beside(parts, name):
  paths = [
    os.path.join(sentence_modules.encoder_dir(part.directory), name)
    for part in parts
  ]
  return next((path for path in paths if tf.io.gfile.exists(path)), None)


def _vocabulary(parts):
  paths = (
    tokenizer_files.find(sentence_modules.encoder_dir(part.directory))
    for part in parts
  )
  return next(filter(None, paths), None)


def _merge(parts: Sequence[_Part]):
  """Returns all arrays, each tower from one directory, and notes."""
  tuned = [part for part in parts if part.architecture == 'RealmForOpenQA']
  embedders = [part for part in parts if part.has('shared')]
  readers = [part for part in parts if part.has('reader')]
  scorers = [part for part in parts if part.has('query')]
  is_pair = len(tuned) == 1 and len(embedders) == 2
  if len(embedders) + len(scorers) > 1 and not is_pair:
    towers = embedders + scorers
    raise _found_twice('embedder', [part.directory for part in towers])
  if len(readers) > 1:
    raise _found_twice('reader', [part.directory for part in readers])
  arrays = {}
  for part in parts:
    own = 'query' if part in tuned else 'block'
    for name, value in part.arrays.items():
      if is_pair and name.startswith('shared_'):
        name = own + name.removeprefix('shared')
      arrays[name] = value
  notes = (imported.ONE_TOWER,) if tuned and not is_pair else ()
  return arrays, notes


def _found_twice(what, directories):
  return errors.UserError(
    f'There must be one {what}. Found {" and ".join(sorted(directories))}. '
    'Give the directories of one model as --source=hf:DIR,DIR.'
  )


def _embedder(parts):
  """Returns the part whose embedder is taken."""
  without_reader = next((p for p in parts if not p.has('reader')), parts[0])
  return next((p for p in parts if p.has('shared')), without_reader)


def _config(parts, arrays, max_length) -> config_lib.ExperimentConfig:
  """Returns the config, the reader's and the embedder's each from its own."""
  embedder = _embedder(parts)
  reader = next((p for p in parts if p.has('reader')), embedder)
  model = hugging_face.model_config(reader.directory)
  towers = hugging_face.model_config(embedder.directory)
  model = dataclasses.replace(
    model,
    embedder_bert=towers.embedder_bert,
    embedder=dataclasses.replace(
      towers.embedder,
      shared_towers=towers.embedder.shared_towers
      and not any(name.startswith('block_') for name in arrays),
    ),
  )
  found = bert_file.read(reader.directory)
  finetuning = config_lib.FinetuningConfig()
  if found.get('model_type', str) == 'realm':
    get = functools.partial(bert_file.width, found)
    num_read = get('reader_beam_size', finetuning.num_read)
    finetuning = dataclasses.replace(
      finetuning,
      joint_tokens=get('reader_seq_len', finetuning.joint_tokens),
      num_read=num_read,
      num_searched=max(
        num_read, get('searcher_beam_size', finetuning.num_searched)
      ),
    )
  return imported.experiment_config(model, finetuning, max_length)


def _notes(directory: str, settings: sentence_settings.Settings):
  """Returns sentences on what a model does before and behind its encoder."""
  prompts = {'query': settings.query_prompt, 'block': settings.block_prompt}
  for what, prompt in prompts.items():
    if prompt:
      yield f'Before each {what} stands {prompt!r}, as in training.'
  modules = sentence_modules.read(directory)
  if modules is not None and not modules.normalize:
    yield (
      'Embeddings are normalized, as scores must be cosines.'
      if settings.similarity == 'cosine'
      else 'Embeddings are not normalized: scores are inner products.'
    )
