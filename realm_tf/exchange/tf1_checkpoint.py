"""Reads the authors' TF1 checkpoints as our config and variables.

The release stores a model in several checkpoints (Section 7 of their notes):
the reader's BERT, the embedder as a TF Hub module, the index as one variable,
and a QA model with the embedder of queries only.
"""

from collections.abc import Mapping, Sequence
import os
import re
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.exchange import safetensors_files
from realm_tf.exchange import tf1_names
from realm_tf.model import bert

_HEAD_SIZE = 64  # BERT's head size at every hidden size.
# Errors of TensorFlow's reader.
_DAMAGE = (tf.errors.OpError, LookupError, RuntimeError, ValueError)
_WORDS = 'embeddings.word_embeddings.weight'


class _Part(NamedTuple):
  """An encoder with its heads.

  Attributes:
    kind: EMBEDDER or READER of tf1_names.
    source: Prefix of the checkpoint.
    names: Hugging Face's name -> name in the checkpoint.
    arrays: Values by Hugging Face's names; kernels are [out, in].
  """

  kind: str
  source: str
  names: dict[str, str]
  arrays: dict[str, np.ndarray]


def load(
  source: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Reads the parts of a model from comma-separated prefixes or directories.

  Missing, damaged and duplicate parts raise UserError.
  """
  found = find(source)
  parts, embeddings, left_over = [], [], []
  for prefix in found.prefixes:
    reader = _open(prefix)
    names = reader.get_variable_to_shape_map()
    recognized = tf1_names.recognize(names, prefix)
    left_over += recognized.left_over
    if recognized.block_embeddings:
      embeddings.append((reader, recognized.block_embeddings, prefix))
    for kind, theirs in recognized.parts.items():
      arrays = _read_all(reader, theirs, prefix)
      parts.append(_Part(kind, prefix, theirs, arrays))
  if len(embeddings) > 1:
    raise _found_twice('index', [prefix for _, _, prefix in embeddings])
  towers, notes = _towers(parts, source)
  berts = {tower: _bert_config(part, given.num_heads) for tower, part in towers}
  arrays, used, missing = {}, [name for _, name, _ in embeddings], []
  for tower, part in towers:
    ours, report = hugging_face_names.convert(
      part.arrays, berts[tower], {'': (tower,)}
    )
    imported.check_whole(report, part.source)
    arrays.update(ours)
    used += [part.names[name] for name in report.used]
    missing += report.missing
    left_over += [part.names[name] for name in report.left_over]
  return imported.Imported(
    _model_config(dict(towers), berts),
    arrays,
    hugging_face_names.Report(
      sorted(set(used)), sorted(missing), sorted(set(left_over) - set(used))
    ),
    embeddings=_rows(*embeddings[0]) if embeddings else None,
    blocks_file=given.blocks_file or found.only('blocks.tfr'),
    vocab_file=given.vocab_file or found.only('vocab.txt'),
    notes=notes,
  )


def _open(prefix: str) -> Any:
  try:
    return tf.train.load_checkpoint(prefix)
  except _DAMAGE as error:
    raise _damaged(prefix, error) from error


def _read_all(
  reader: Any, names: Mapping[str, str], prefix: str
) -> dict[str, np.ndarray]:
  """Returns the values by Hugging Face's names."""
  arrays = {}
  for theirs, name in names.items():
    value = _read(reader, name, prefix)
    # Kernels of nn.Linear are transposed.
    arrays[theirs] = value.T if name.endswith('/kernel') else value
  return arrays


def _read(reader: Any, name: str, prefix: str) -> np.ndarray:
  try:
    return reader.get_tensor(name)
  except _DAMAGE as error:
    raise _damaged(prefix, error) from error


def _damaged(prefix: str, error: Exception) -> errors.UserError:
  return errors.UserError(
    f'tf1:{prefix} must be a whole checkpoint. Found: {error}. Copy all of its '
    'files again.'
  )


def _rows(reader: Any, name: str, prefix: str) -> safetensors_files.Rows:
  """Returns the index's matrix; TensorFlow compares its checksum."""
  rows = _read(reader, name, prefix)
  if rows.ndim != 2:
    raise errors.UserError(
      f'{name} must have one row a block. Found shape {rows.shape} in {prefix}.'
      ' Leave this checkpoint out.'
    )
  return safetensors_files.Rows(rows.shape, rows.__getitem__, prefix)


def _towers(
  parts: Sequence[_Part], source: str
) -> tuple[list[tuple[str, _Part]], tuple[str, ...]]:
  """Returns (tower, part) pairs, and notes for the user."""
  embedders = [part for part in parts if part.kind == tf1_names.EMBEDDER]
  readers = [part for part in parts if part.kind == tf1_names.READER]
  for part in parts:
    if _WORDS not in part.arrays:
      raise errors.UserError(
        f'A BERT must be in one checkpoint with its heads. Found '
        f'{min(part.names.values())} but no word embeddings in {part.source}. '
        'Check --source.'
      )
  if not parts:
    raise errors.UserError(
      f'tf1:{source} must hold a BERT encoder. Found none. Give the prefixes '
      "of the embedder's and the reader's checkpoints, with commas."
    )
  if len(readers) > 1:
    raise _found_twice('reader', [part.source for part in readers])
  towers = [('reader', part) for part in readers]
  if not embedders and not _is_of_realm(readers[0]):
    return [('shared', readers[0]), *towers], (
      'A plain BERT: both embedders and the reader start from it.',
    )
  qa_sources = {part.source for part in readers}
  tuned = [part for part in embedders if part.source in qa_sources]
  frozen = [part for part in embedders if part.source not in qa_sources]
  if len(tuned) > 1 or len(frozen) > 1:
    raise _found_twice('embedder', [part.source for part in embedders])
  if tuned and frozen:  # Fine-tuning changes only Embed_input (Section 3.3).
    return [('query', tuned[0]), ('block', frozen[0]), *towers], ()
  notes = (imported.ONE_TOWER,) if tuned else ()
  return [*(('shared', part) for part in embedders), *towers], notes


def _is_of_realm(part: _Part) -> bool:
  """Returns whether a reader has a span head; no released BERT has one."""
  return any(name.startswith('qa_outputs.') for name in part.names)


def _found_twice(what: str, prefixes: Sequence[str]) -> errors.UserError:
  return errors.UserError(
    f'There must be one {what}. Found {" and ".join(sorted(prefixes))}. Give '
    'the prefixes of one model as --source=tf1:PREFIX,PREFIX.'
  )


def _bert_config(
  part: _Part, num_heads: Optional[int]
) -> config_lib.BertConfig:
  """Returns the sizes of an encoder, from the shapes of its weights."""
  vocab_size, width = part.arrays[_WORDS].shape
  num_layers = hugging_face_names.num_layers(part.arrays)
  inner = part.arrays.get('encoder.layer.0.intermediate.dense.bias')
  positions = part.arrays.get('embeddings.position_embeddings.weight')
  if not num_layers or inner is None or positions is None:
    raise errors.UserError(
      f'{part.source} must hold a whole BERT encoder. Found word embeddings '
      'without position embeddings or a first layer. Check --source.'
    )
  if not num_heads and width % _HEAD_SIZE:
    raise errors.UserError(
      f"Attention's heads are {_HEAD_SIZE} wide by default. Found width "
      f'{width} in {part.source}. Give --num_heads.'
    )
  if num_heads and width % num_heads:
    raise errors.UserError(
      f'--num_heads must divide the width of {part.source}, {width}. Found '
      f'{num_heads}.'
    )
  return config_lib.BertConfig(
    vocab_size=vocab_size,
    hidden_size=width,
    num_layers=num_layers,
    num_heads=num_heads or width // _HEAD_SIZE,
    intermediate_size=len(inner),
    max_positions=len(positions),
  )


def _model_config(
  parts: Mapping[str, _Part], berts: Mapping[str, config_lib.BertConfig]
) -> config_lib.ModelConfig:
  embedder = parts.get('query', parts.get('shared'))
  reader = parts.get('reader', embedder)
  head = embedder and embedder.arrays.get('cls.dense.bias')
  span = reader and reader.arrays.get('qa_outputs.dense_output.weight')  # [1,S]
  shared = 'query' not in parts
  embedder_config = config_lib.EmbedderConfig(shared_towers=shared)
  if head is not None:
    embedder_config = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=len(head),
      shared_towers=shared,
      layer_norm_epsilon=bert.LAYER_NORM_EPSILON,
    )
  reader_bert = berts.get('reader', next(iter(berts.values())))
  return config_lib.ModelConfig(
    embedder_bert=berts.get('query', berts.get('shared', reader_bert)),
    reader_bert=reader_bert,
    embedder=embedder_config,
    span_hidden_size=256 if span is None else span.shape[-1],
  )


_STEP = re.compile(r'(.*)-(\d+)')


class Found(NamedTuple):
  """Sorted prefixes of a model's checkpoints, and other files."""

  prefixes: list[str]
  others: list[str]

  def only(self, name: str) -> Optional[str]:
    """Returns the file of a name, or None; UserError for different files."""
    paths = sorted({p for p in self.others if os.path.basename(p) == name})
    if len({tf.io.gfile.stat(path).length for path in paths}) > 1:
      raise errors.UserError(
        f'There must be one {name}. Found different ones, '
        f'{" and ".join(paths)}. Name the right one, as --vocab_file or '
        '--blocks.'
      )
    return paths[0] if paths else None


def find(source: str) -> Found:
  """Finds the newest checkpoint of each training job, and other files.

  The source is comma-separated prefixes, or directories to search at any depth.
  """
  prefixes, others = [], []
  for item in filter(None, source.split(',')):
    if tf.io.gfile.exists(f'{item}.index'):
      prefixes.append(item)
      others += _beside(os.path.dirname(item))
    elif tf.io.gfile.isdir(item):
      in_directory, files = _search(item)
      prefixes += in_directory
      others += files
    else:
      raise _no_checkpoint(item, f'neither {item}.index nor a directory')
  if not prefixes:
    raise _no_checkpoint(source, 'no file *.index')
  return Found(sorted(set(prefixes)), others)


def _no_checkpoint(source: str, found: str) -> errors.UserError:
  return errors.UserError(
    f'tf1:{source} must be the prefix of a checkpoint with the files '
    f'PREFIX.index and PREFIX.data-..., or a directory of checkpoints. Found '
    f'{found}. Check --source.'
  )


def _search(directory: str) -> tuple[list[str], list[str]]:
  """Returns the checkpoints at any depth, and all other files."""
  prefixes, files = [], []
  for folder, _, names in tf.io.gfile.walk(directory):
    newest = {}
    for name in names:
      files.append(os.path.join(folder, name))
      if name.endswith('.index') and '.tempstate' not in name:
        stem = name[: -len('.index')]
        match = _STEP.fullmatch(stem)
        key, step = (match[1], int(match[2])) if match else (stem, -1)
        newest[key] = max(newest.get(key, (-1, stem)), (step, stem))
    prefixes += [os.path.join(folder, stem) for _, stem in newest.values()]
  return prefixes, files


def _beside(folder: str) -> list[str]:
  """Returns the vocabulary and blocks next to a checkpoint or TF Hub module."""
  parent = os.path.dirname(folder)
  paths = [
    os.path.join(place, 'vocab.txt')
    for place in (
      folder,
      os.path.join(folder, 'assets'),
      os.path.join(parent, 'assets'),
    )
  ]
  paths.append(os.path.join(folder, 'blocks.tfr'))
  return [path for path in paths if tf.io.gfile.exists(path)]
