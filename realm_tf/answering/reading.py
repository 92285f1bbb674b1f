"""The span reader of a model, as a function of arrays.

It may be another model's than the one that retrieves: Table 2 exchanges them.
"""

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.answering import answerer as answerer_lib
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.records import joining
from realm_tf.rundir import model_directory


def has_reader(names: Iterable[str]) -> bool:
  """Returns whether parameters of these names have a span reader."""
  return any(name.startswith('span_reader/') for name in names)


def load_reader(
  reader_dir: str, corpus_manifest: dict[str, Any]
) -> tuple[realm_model.RealmModel, config_lib.FinetuningConfig]:
  """Opens the reader alone of a model directory.

  Args:
    reader_dir: From fine-tuning; it needs no index.
    corpus_manifest: Of the corpus to read.

  Returns:
    A model with the SPAN part, and the config that it was trained with.

  Raises:
    UserError: There is no reader, or it is of another vocabulary.
  """
  directory = model_directory.open_directory(reader_dir)
  model_files.open_tokenizer(reader_dir, corpus_manifest)  # Only checked.
  arrays = model_files.read_params(directory.params)
  if not has_reader(arrays):
    raise errors.UserError(
      '--reader_dir must hold a model that reads answers. Found none in '
      f'{directory.params.path}. Make one with bin.finetune.'
    )
  model = realm_model.RealmModel(directory.config.model, [realm_model.SPAN])
  realm_model.require_parts(model.load(arrays), directory.params.path)
  return model, directory.config.finetuning


def reading_function(
  model: realm_model.RealmModel,
  special_ids: tuple[int, int],
  config: config_lib.FinetuningConfig,
) -> answerer_lib.Reader:
  """Returns the compiled reader of `answerer.Answerer`.

  Args:
    model: With the SPAN part.
    special_ids: The vocabulary's [CLS] and [SEP].
    config: Longest joint sequence, and whether titles are in it.
  """

  @tf.function
  def read(question_ids, title_ids, body_ids, retrieval_scores):
    joint = joining.pack_pairs(
      question_ids,
      body_ids,
      *special_ids,
      config.joint_tokens,
      title_ids if config.read_titles else None,
    )
    spans = model.span_reader(joint, body_ids.shape[2])
    return spans + retrieval_scores[:, :, None, None]

  return lambda *arrays: read(*map(tf.constant, arrays)).numpy()
