"""A Hugging Face directory -> our config and values of our variables.

Reads BERT and REALM models (`google/realm-*`), and sentence-transformers of
BERTs, without torch or transformers.
"""

from collections.abc import Iterable
import os
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import bert_config
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import json_files
from realm_tf.importing import safetensors_files
from realm_tf.importing import sentence_transformers
from realm_tf.importing import tied_names
from realm_tf.modeling import bert
from realm_tf.modeling import config_sizes
from realm_tf.modeling import realm_model

_BLOCK_EMBEDDINGS = 'block_emb'  # Name of the index's matrix.
_NORMALIZED_SCALE = 20.0  # The scale of sentence-transformers' training.


class Directory(NamedTuple):
  """Contents of a directory.

  Attributes:
    architecture: Class of the model, '' if config.json has none.
    arrays: Values by our names, without `rows`. The names of a shared embedder
      tower begin with 'shared_'.
    rows: Embeddings of the blocks, if any.
  """

  path: str
  architecture: str
  recipe: sentence_transformers.Recipe
  model: config_lib.ModelConfig
  finetuning: config_lib.FinetuningConfig
  arrays: dict[str, np.ndarray]
  report: hugging_face_names.Report
  rows: Optional[imported.Rows]

  def has(self, tower: str) -> bool:
    return any(name.startswith(f'{tower}_bert/') for name in self.arrays)


def read(path: str) -> Directory:
  """Reads a directory; UserError for damaged files and unsupported models."""
  recipe = sentence_transformers.read(path)
  encoder_dir = recipe.encoder_dir
  values = json_files.require(encoder_dir, 'config.json', bert_config.FIELDS)
  config_path = os.path.join(encoder_dir, 'config.json')
  architecture = next(iter(values.get('architectures', [])), '')
  model = _model_config(values, config_path, architecture, recipe)
  _refuse_adapter(encoder_dir)
  tensors = safetensors_files.Tensors(encoder_dir)
  roles = hugging_face_names.ROLES.get(
    architecture, hugging_face_names.BERT_ROLES
  )
  names = {hugging_face_names.modern(name): name for name in tensors}
  if 'reader' in roles.get('', ()):  # Other heads are not read.
    is_tied = values.get('tie_word_embeddings', True)
    tied_names.resolve(names, tensors, is_tied, config_path)
  _check_layers(model.reader_bert.num_layers, names, config_path)
  arrays, report = hugging_face_names.convert(
    tensors, model.reader_bert, roles, names
  )
  imported.check_whole(report, path)
  shapes = {name: array.shape for name, array in arrays.items()}
  config_sizes.check(model, shapes, path)
  arrays |= _unread_poolers(model, report)
  if recipe.dense is not None:
    for name, value in recipe.dense.read().items():
      arrays[f'shared_embedder/projection/{name}'] = value
  if model.embedder.normalize:  # Training starts with temperature 1, bias 0.
    for name in (realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS):
      arrays[name] = np.zeros([], np.float32)
  rows = tensors.rows(_BLOCK_EMBEDDINGS)
  return Directory(
    path,
    architecture,
    recipe,
    model,
    bert_config.finetuning(values),
    arrays,
    _with_known_names(report),
    rows,
  )


def _check_layers(number: int, names: Iterable[str], config_path: str) -> None:
  found = hugging_face_names.num_layers(names)
  if number > found:
    raise errors.UserError(
      f'{config_path} must have the sizes of the weights. Found {found} '
      f'layers, where it needs {number}. Choose another model, or copy both '
      'again.'
    )


def _with_known_names(
  report: hugging_face_names.Report,
) -> hugging_face_names.Report:
  """Counts the index's matrix as used, and omits second names of tensors."""
  used, left_over = list(report.used), []
  for name in report.left_over:
    if name == _BLOCK_EMBEDDINGS:
      used.append(name)
    elif not tied_names.is_copy(name):
      left_over.append(name)
  return report._replace(used=sorted(used), left_over=left_over)


def _unread_poolers(
  model: config_lib.ModelConfig, report: hugging_face_names.Report
) -> dict[str, np.ndarray]:
  """Returns zeros for missing poolers that no head reads."""
  size = model.reader_bert.hidden_size
  shapes = {'bias': (size,), 'kernel': (size, size)}
  return {
    name: np.zeros(shapes[name.rpartition('/')[2]], np.float32)
    for name in report.missing
    if name.startswith('reader_') or model.embedder.head != 'pooled'
  }


def _refuse_adapter(directory: str) -> None:
  if tf.io.gfile.exists(os.path.join(directory, 'adapter_config.json')):
    raise errors.UserError(
      'A Hugging Face directory must hold a whole model. Found the adapter of '
      f'one, adapter_config.json in {directory}. Merge it first, with '
      'merge_and_unload() of peft.'
    )


def _model_config(
  values: dict[str, Any],
  path: str,
  architecture: str,
  recipe: sentence_transformers.Recipe,
) -> config_lib.ModelConfig:
  """Returns the networks' config; REALM models have the release's embedder."""
  encoder = bert_config.encoder(values, path)
  if values['model_type'] == 'realm':
    embedder = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=values.get('retriever_proj_size', 128),
      shared_towers=architecture != 'RealmScorer',
      layer_norm_epsilon=bert.LAYER_NORM_EPSILON,
    )
  else:
    embedder = _sentence_embedder(recipe, encoder.hidden_size)
  return config_lib.ModelConfig(
    embedder_bert=encoder,
    reader_bert=encoder,
    embedder=embedder,
    span_hidden_size=values.get('span_hidden_size', 256),
    max_span_width=values.get('max_span_width', 10),
  )


def _sentence_embedder(
  recipe: sentence_transformers.Recipe, hidden_size: int
) -> config_lib.EmbedderConfig:
  dense = recipe.dense
  if dense is not None and dense.in_features != hidden_size:
    raise json_files.wrong(
      recipe.modules_path,
      f'have a Dense of in_features={hidden_size}, as hidden_size',
      dense.in_features,
    )
  return config_lib.EmbedderConfig(
    head=recipe.head,
    embedding_size=hidden_size if dense is None else dense.out_features,
    dense='none' if dense is None else dense.activation,
    normalize=recipe.normalize,
    score_scale=_NORMALIZED_SCALE if recipe.normalize else 1.0,
    shared_towers=True,
  )
