"""Model directories, trained or imported: config, vocabulary, versions.

<dir>/config.json  vocab.txt  params/000000500/  index/000000500/
"""

from typing import Any, NamedTuple, Optional

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.text import tokenizer_files


class ModelDirectory(NamedTuple):
  """A model directory with its config and newest versions."""

  path: str
  config: config_lib.ExperimentConfig
  params: versions.Version
  index: Optional[versions.Version]


def create(
  path: str, config: config_lib.ExperimentConfig, vocab_file: str
) -> None:
  """Writes or replaces config.json and a vocabulary, or a T5's pieces."""
  tf.io.gfile.makedirs(path)
  config_files.write(config, path)
  if vocab_file.endswith('.model'):
    tf.io.gfile.copy(
      vocab_file, layout.sentencepiece_file(path), overwrite=True
    )
  else:
    tokenizer_files.copy(vocab_file, path)


def has_sentencepieces(path: str) -> bool:
  """Returns whether a model directory holds an imported T5."""
  return tf.io.gfile.exists(layout.sentencepiece_file(path))


def open_directory(path: str) -> ModelDirectory:
  """Finds the newest parameters and index of a model directory.

  Raises:
    UserError: It is not a model directory, or has no parameters.
  """
  has_vocabulary = tf.io.gfile.exists(layout.vocab_file(path))
  if not has_vocabulary and not has_sentencepieces(path):
    raise errors.UserError(
      'A model directory must hold config.json, vocab.txt and params/. Found '
      f'no {layout.vocab_file(path)}. Give the --run_dir of a training job '
      'or the --output_dir of bin.import_checkpoint.'
    )
  params = versions.newest(layout.params_root(path))
  if params is None:
    raise errors.UserError(
      'A model directory must hold a complete version of parameters. Found '
      f'none in {layout.params_root(path)}. Train, or import a checkpoint.'
    )
  return ModelDirectory(
    path,
    config_files.read(path),
    params,
    versions.newest(layout.index_root(path)),
  )


def check_vocabulary(
  path: str, vocabulary_sha256: str, corpus_manifest: dict[str, Any]
) -> None:
  """Raises UserError unless model and corpus share one vocabulary."""
  expected = corpus_manifest['vocabulary_sha256']
  if vocabulary_sha256 != expected:
    raise errors.UserError(
      'Model and corpus must share one vocabulary. Found '
      f'{layout.vocab_file(path)} with sha256 {vocabulary_sha256[:12]} and a '
      f'corpus with {expected[:12]}. Make the corpus with --vocab_file='
      f'{layout.vocab_file(path)}.'
    )
