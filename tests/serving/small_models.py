"""Model directories with random parameters over the corpus of `tiny`."""

from collections.abc import Sequence
import functools
import os
import shutil
import tempfile
from typing import Any

from realm_tf import config as config_lib
from realm_tf.data import block_table
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.serving import changes
from realm_tf.training import job as job_lib
from tests import model_dirs
from tests import tiny

QA = (realm_model.EMBEDDER, realm_model.SPAN)
PRETRAINED = (realm_model.EMBEDDER, realm_model.MASKED_LM)
# A load compiles each batch size up to this one.
CONFIG = tiny.config(finetuning={'eval_batch_size': 2})


def write(
  path: str,
  corpus_dir: str,
  parts: Sequence[str] = QA,
  config: config_lib.ExperimentConfig = CONFIG,
  **weights: Any,
) -> Any:
  """Writes version 0 of parameters and index; returns the model.

  `weights` are arguments of `model_dirs.write`.
  """
  inputs = job_lib.open_inputs(config, corpus_dir)
  model = model_dirs.write(path, inputs, parts, **weights)
  model_dirs.index(inputs, model, layout.index_root(path))
  return model


def publish(path: str, corpus_dir: str, model: Any, step: int) -> None:
  """Publishes a version of a model's index and parameters."""
  inputs = job_lib.open_inputs(CONFIG, corpus_dir)
  model_dirs.index(inputs, model, layout.index_root(path), step)
  job_lib.publish(path, step, model)


def open_log(path: str, corpus_dir: str) -> changes.DocumentLog:
  manifest = block_table.read_manifest(corpus_dir)
  return changes.DocumentLog(path, manifest['corpus_fingerprint'])


@functools.cache
def _written() -> tempfile.TemporaryDirectory:
  directory = tempfile.TemporaryDirectory()
  corpus_dir = tiny.write_corpus(directory.name)
  write(os.path.join(directory.name, 'qa'), corpus_dir)
  return directory


def write_all(directory: str) -> tuple[str, str]:
  """Writes a corpus and a QA model; returns the paths of model and corpus.

  All tests of a process get copies of one model.
  """
  shutil.copytree(_written().name, directory, dirs_exist_ok=True)
  return os.path.join(directory, 'qa'), os.path.join(directory, 'corpus')


def write_with_words(directory: str) -> tuple[str, str]:
  """Writes a corpus with a word of two letters, for BM25, as `write_all`."""
  articles = [each._replace(title='Oran') for each in tiny.ARTICLES]
  corpus_dir = tiny.write_corpus(directory, articles, 'words')
  write(os.path.join(directory, 'of_words'), corpus_dir)
  return os.path.join(directory, 'of_words'), corpus_dir
