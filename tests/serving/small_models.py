"""Model directories of random parameters over the corpus of `tiny`."""

from collections.abc import Sequence
import dataclasses
import os
from typing import Any

import tf_keras

from realm_tf.live import document_log
from realm_tf.modeling import realm_model
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from realm_tf.training import runs
from tests import model_index
from tests import tiny

QA = (realm_model.EMBEDDER, realm_model.SPAN)
PRETRAINED = (realm_model.EMBEDDER, realm_model.MASKED_LM)


def write(
  path: str, corpus_dir: str, parts: Sequence[str] = QA, seed: int = 0
) -> Any:
  """Writes a model directory, version 0 of parameters and index.

  Returns:
    The model.
  """
  inputs = runs.open_inputs(_config(), corpus_dir)
  job_lib.Job(path).begin(inputs.config, inputs.vocab_file)
  tf_keras.utils.set_random_seed(seed)  # After `start`, which sets one too.
  model = realm_model.RealmModel(inputs.config.model, parts)
  publish(path, corpus_dir, model, 0)
  return model


def _config():
  config = tiny.config()
  # Each size up to it is compiled when a model is loaded.
  finetuning = dataclasses.replace(config.finetuning, eval_batch_size=2)
  return dataclasses.replace(config, finetuning=finetuning)


def publish(path: str, corpus_dir: str, model: Any, step: int) -> None:
  """Publishes a version of a model: its index first, then its parameters."""
  inputs = runs.open_inputs(_config(), corpus_dir)
  model_index.build(inputs, model, corpus_dir, layout.index_root(path), step)
  params_export.publish(path, step, model)


def open_log(path: str, corpus_dir: str) -> document_log.DocumentLog:
  """Opens a documents log of a corpus."""
  manifest = block_table.read_manifest(corpus_dir)
  return document_log.DocumentLog(path, manifest['corpus_fingerprint'])


def write_all(directory: str) -> tuple[str, str]:
  """Writes a corpus and a QA model; returns the paths of both."""
  corpus_dir = tiny.write_corpus(directory)
  model_dir = os.path.join(directory, 'qa')
  write(model_dir, corpus_dir)
  return model_dir, corpus_dir
