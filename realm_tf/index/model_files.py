"""Makes and opens a model directory, and opens the index of a corpus.

<dir>/config.json  vocab.txt  params/000000500/  index/000000500/
"""

from collections.abc import Collection, Mapping
import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.data import block_table
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import outputs
from realm_tf.run import run_lock
from realm_tf.run import versions
from realm_tf.text import sentencepieces
from realm_tf.text import tokenizer_files
from realm_tf.text import wordpiece

# Part of a model -> its use, and the job that makes it.
_PARTS = {
  realm_model.EMBEDDER: ('embeds queries and blocks', 'bin.pretrain'),
  realm_model.MASKED_LM: ('fills masks', 'bin.pretrain'),
  realm_model.SPAN: ('reads answers', 'bin.finetune'),
  realm_model.PATH: ('follows paths', 'bin.train_path'),
  realm_model.SEQ2SEQ: ('answers closed book', 'bin.train_closed_book'),
}
_NOT_OPENED: Any = None


@dataclasses.dataclass(frozen=True)
class OpenModel:
  """A model directory and its opened files."""

  path: str
  config: config_lib.ExperimentConfig
  params: versions.Version  # The newest.
  newest_index: versions.Version | None  # From the model directory.
  tokenizer: Any  # Wordpieces, or SentencePieces for an imported T5.
  parts: list[str] = dataclasses.field(default_factory=list)
  model: realm_model.RealmModel = _NOT_OPENED  # None if no part was requested.
  table: block_table.BlockTable = _NOT_OPENED  # Corpus; None if not given.
  index: storage.Index = _NOT_OPENED  # None without `with_index`.

  def read_params(self) -> dict[str, np.ndarray]:
    """Returns the newest parameters; UserError if they are damaged."""
    return read_params(self.params)

  def with_index(self, index_dir: str | None = None) -> 'OpenModel':
    """Returns this model with an index of the corpus, by default the newest.

    Args:
      index_dir: An index version, or a directory of versions.

    Raises:
      UserError: The index is missing, damaged, or from other parameters.
    """
    newest = versions.newest(index_dir) if index_dir else self.newest_index
    if index_dir and versions.is_complete(index_dir):
      path = index_dir
    elif newest:
      path = newest.path
    else:
      raise errors.UserError(
        'A model directory or --index_dir must hold an index version to answer '
        f'with. Found none in {index_dir or layout.index_root(self.path)}. '
        'Build one with bin.build_index and give it as --index_dir.'
      )
    index = storage.load(path, self.table.manifest['corpus_fingerprint'])
    expected = storage.embedder_fingerprint(self.model)
    if index.manifest['embedder_fingerprint'] != expected:
      raise errors.UserError(
        "An index must be embedded with the model's own parameters. Found "
        f'other parameters in {path}. Build it again with bin.build_index.'
      )
    return dataclasses.replace(self, index=index)


def create(
  path: str, config: config_lib.ExperimentConfig, vocab_file: str
) -> None:
  """Writes or replaces config.json, and a vocabulary or a T5's pieces."""
  tf.io.gfile.makedirs(path)
  config_files.write(config, path)
  if vocab_file.endswith('.model'):
    tf.io.gfile.copy(
      vocab_file, layout.sentencepiece_file(path), overwrite=True
    )
  else:
    tokenizer_files.copy(vocab_file, path)


def create_new(
  path: str, config: config_lib.ExperimentConfig, vocab_file: str
) -> None:
  """Calls `create` for a job that is alone in a new directory, or UserError."""
  run_lock.hold(path, 'job')
  outputs.check_new(path)
  create(path, config, vocab_file)


def open_model(
  model_dir: str,
  parts: Collection[str] = (),
  *,
  optional: Collection[str] = (),
  table: block_table.BlockTable | None = None,
  flag: str = '--model_dir',
) -> OpenModel:
  """Opens a model directory.

  Args:
    parts: Parts to build; the model must have them.
    optional: Parts to build if the model has them.
    table: Corpus to use the model with.
    flag: Flag that names `model_dir`, for the error.

  Raises:
    UserError: A file is missing or damaged, the model lacks a part, or the
      corpus has another vocabulary.
  """
  opened = _open_directory(model_dir)
  if table is not None:
    opened = dataclasses.replace(opened, table=table)
    if not isinstance(opened.tokenizer, sentencepieces.SentencepieceTokenizer):
      check_vocabulary(model_dir, opened.tokenizer, table)
  if not parts and not optional:
    return opened
  arrays = opened.read_params()
  built = realm_model.parts_of(arrays)
  for part in parts:
    if part not in built:
      does, maker = _PARTS[part]
      raise errors.UserError(
        f'{flag} must hold a model that {does}. Found none in '
        f'{opened.params.path}. Make one with {maker}.'
      )
  built = [part for part in built if part in (*parts, *optional)]
  model = realm_model.RealmModel(
    opened.config.model,
    built,
    opened.tokenizer.is_inner,
    realm_model.has_null_spans(arrays),
  )
  realm_model.require_parts(model.load(arrays), opened.params.path)
  return dataclasses.replace(opened, parts=built, model=model)


def _open_directory(path: str) -> OpenModel:
  vocab_file = layout.vocab_file(path)
  sentencepiece_file = layout.sentencepiece_file(path)
  has_sentencepieces = tf.io.gfile.exists(sentencepiece_file)
  if not has_sentencepieces and not tf.io.gfile.exists(vocab_file):
    raise errors.UserError(
      'A model directory must hold config.json, vocab.txt and params/. Found '
      f'no {vocab_file}. Give the --run_dir of a training job or the '
      '--output_dir of bin.import_checkpoint.'
    )
  params = versions.newest(layout.params_root(path))
  if params is None:
    raise errors.UserError(
      'A model directory must hold a complete version of parameters. Found '
      f'none in {layout.params_root(path)}. Train, or import a checkpoint.'
    )
  return OpenModel(
    path,
    config_files.read(path),
    params,
    versions.newest(layout.index_root(path)),
    sentencepieces.SentencepieceTokenizer.from_file(sentencepiece_file)
    if has_sentencepieces
    else wordpiece.WordpieceTokenizer.from_file(vocab_file),
  )


def check_vocabulary(
  model_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  table: block_table.BlockTable,
) -> None:
  """Raises UserError unless model and corpus share one vocabulary."""
  expected = table.manifest['vocabulary_sha256']
  found = tokenizer.vocabulary_sha256
  if found != expected:
    vocab_file = layout.vocab_file(model_dir)
    raise errors.UserError(
      f'Model and corpus must share one vocabulary. Found {vocab_file} with '
      f'sha256 {found[:12]} and a corpus with {expected[:12]}. Make the corpus '
      f'with --vocab_file={vocab_file}.'
    )


def publish(
  model_dir: str, step: int, arrays: Mapping[str, np.ndarray]
) -> versions.Version:
  """Writes params/<step>/ of a model directory."""
  return versions.publish(
    layout.params_root(model_dir),
    step,
    lambda path: weights.write(arrays, layout.params_file(path)),
    {'params_fingerprint': weights.fingerprint(arrays)},
  )


def read_params(params: versions.Version) -> dict[str, np.ndarray]:
  """Returns a version of parameters; raises UserError if damaged."""
  versions.verify(params.path)
  return weights.read(layout.params_file(params.path))


def load_version(model: realm_model.RealmModel, path: str) -> None:
  """Loads a version's parameters; raises UserError if `model` needs others."""
  arrays = weights.read(layout.params_file(path))
  realm_model.require_parts(model.load(arrays), path)


def write_average(
  model_dir: str, before_dir: str, weight: float, *, output_dir: str
) -> versions.Version:
  """Writes a new model directory with the step and reader of `model_dir`.

  Training on one kind of query makes an encoder forget others: sentences have
  no "when" and no "where". The average of embedders, (1 - w) before + w after,
  keeps the knowledge of both (Wortsman et al. 2022, Robust fine-tuning of
  zero-shot models, Section 2).

  Raises:
    UserError: A directory is no model directory or has no embedders, the
      vocabularies or the embedders' shapes differ, or `output_dir` holds
      parameters.
  """
  opened = open_model(model_dir)
  after = opened.read_params()
  if realm_model.EMBEDDER not in realm_model.parts_of(after):
    raise errors.UserError(
      'A model to be averaged must have embedders. Found none in '
      f'{opened.params.path}. Give a retriever.'
    )
  other = open_model(before_dir)
  sha256 = other.tokenizer.vocabulary_sha256
  if opened.tokenizer.vocabulary_sha256 != sha256:
    raise errors.UserError(
      f'Both models must have one vocabulary. Found another in {before_dir} '
      f'than in {model_dir}. Average a model with its own --init_from.'
    )
  outputs.check_new(output_dir)
  arrays = average(after, other.read_params(), weight, where=before_dir)
  vocab_file = layout.vocab_file(model_dir)
  create_new(output_dir, opened.config, vocab_file)
  return publish(output_dir, opened.params.step, arrays)


def average(
  after: Mapping[str, np.ndarray],
  before: Mapping[str, np.ndarray],
  weight: float,
  *,
  where: str,
) -> dict[str, np.ndarray]:
  """Returns `after`, by name, with the embedders' weights averaged.

  Learned scalars (temperature, null bias) that only `after` has do not change.

  Args:
    weight: Weight of `after`, in [0, 1].
    where: Source of `before`, for errors.

  Raises:
    UserError: `before` lacks an embedder's weight, or has another shape.
  """
  result = dict(after)
  learned = realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS
  for name, value in after.items():
    if not name.startswith(realm_model.EMBEDDER_PREFIXES):
      continue
    if name in learned and name not in before:
      continue
    found = before[name].shape if name in before else 'none'
    if found != value.shape:
      raise errors.UserError(
        f'Embedders to be averaged must have the same shapes. Found {name} of '
        f'{value.shape}, and {found} in {where}. Average a model with its own '
        '--init_from.'
      )
    mean = weight * value + (1 - weight) * before[name]
    result[name] = np.asarray(mean, value.dtype)  # Scalars are no arrays.
  return result
