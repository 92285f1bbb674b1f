"""A model directory -> its config, tokenizer, parameters and model."""

from collections.abc import Collection
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import errors
from realm_tf.modeling import config_sizes
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.text import sentencepieces
from realm_tf.text import wordpiece

# Part of a model -> what it does, and which job makes it.
_PARTS = {
  realm_model.EMBEDDER: ('embeds queries and blocks', 'bin.pretrain'),
  realm_model.MASKED_LM: ('fills masks', 'bin.pretrain'),
  realm_model.SPAN: ('reads answers', 'bin.finetune'),
  realm_model.PATH: ('follows paths', 'bin.train_path'),
  realm_model.SEQ2SEQ: ('answers closed book', 'bin.train_closed_book'),
}


class OpenModel(NamedTuple):
  """A model directory, its newest parameters loaded into `model`.

  Attributes:
    tokenizer: A T5 that was imported has a `SentencepieceTokenizer`.
  """

  directory: model_directory.ModelDirectory
  tokenizer: wordpiece.WordpieceTokenizer
  model: realm_model.RealmModel
  parts: list[str]


def open_model(
  model_dir: str,
  parts: Collection[str],
  optional: Collection[str] = (),
  corpus_manifest: Optional[dict[str, Any]] = None,
  flag: str = '--model_dir',
) -> OpenModel:
  """Opens the newest parameters of a model directory.

  Args:
    model_dir: Model directory.
    parts: Parts that it must have.
    optional: Parts that are built if it has them.
    corpus_manifest: Manifest of the corpus that the model is used with.
    flag: Flag that names `model_dir`, for the error.

  Raises:
    UserError: Something is missing or damaged, or the corpus has another
      vocabulary.
  """
  directory, tokenizer, arrays = read(model_dir, corpus_manifest)
  found = realm_model.parts_of(arrays)
  for part in parts:
    if part not in found:
      does, maker = _PARTS[part]
      raise errors.UserError(
        f'{flag} must hold a model that {does}. Found none in '
        f'{directory.params.path}. Make one with {maker}.'
      )
  found = [part for part in found if part in (*parts, *optional)]
  check_sizes(directory)
  model = realm_model.RealmModel(directory.config.model, found)
  realm_model.require_parts(model.load(arrays), directory.params.path)
  return OpenModel(directory, tokenizer, model, found)


def read(
  model_dir: str, corpus_manifest: Optional[dict[str, Any]] = None
) -> tuple[
  model_directory.ModelDirectory,
  wordpiece.WordpieceTokenizer,
  dict[str, np.ndarray],
]:
  """Returns directory, tokenizer and newest parameters; see `open_model`."""
  directory = model_directory.open_directory(model_dir)
  tokenizer: Any
  if model_directory.has_sentencepieces(model_dir):
    tokenizer = open_sentencepieces(model_dir)  # It reads no corpus.
  else:
    tokenizer = open_tokenizer(model_dir, corpus_manifest)
  return directory, tokenizer, read_params(directory.params)


def check_sizes(directory: model_directory.ModelDirectory) -> None:
  """Raises UserError unless the config has the sizes of the weights."""
  path = directory.params.path
  shapes = weights.read_shapes(layout.params_file(path))
  config_sizes.check(directory.config.model, shapes, path)


def open_tokenizer(
  model_dir: str, corpus_manifest: Optional[dict[str, Any]] = None
) -> wordpiece.WordpieceTokenizer:
  """Returns a model's tokenizer; UserError if a corpus has another one."""
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    layout.vocab_file(model_dir)
  )
  if corpus_manifest is not None:
    model_directory.check_vocabulary(
      model_dir, tokenizer.vocabulary_sha256, corpus_manifest
    )
  return tokenizer


def open_sentencepieces(
  model_dir: str,
) -> sentencepieces.SentencepieceTokenizer:
  """Returns the tokenizer of an imported T5, or of one trained from it."""
  return sentencepieces.SentencepieceTokenizer.from_file(
    layout.sentencepiece_file(model_dir)
  )


def read_params(params: versions.Version) -> dict[str, np.ndarray]:
  """Reads a version of parameters; UserError if they are damaged."""
  versions.verify(params.path)
  return weights.read(layout.params_file(params.path))


def load_version(model: realm_model.RealmModel, path: str) -> None:
  """Loads parameters of a version; UserError if `model` needs more of them."""
  arrays = weights.read(layout.params_file(path))
  realm_model.require_parts(model.load(arrays), path)
