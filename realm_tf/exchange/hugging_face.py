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
from realm_tf import json_text
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.exchange import json_files
from realm_tf.exchange import safetensors_files
from realm_tf.exchange import sentence_transformers
from realm_tf.model import bert
from realm_tf.model import config_sizes
from realm_tf.model import realm_model

_ACTIVATIONS = {
  'gelu': 'gelu',
  'gelu_new': 'gelu_tanh',
  'gelu_pytorch_tanh': 'gelu_tanh',
  'gelu_python': 'gelu',
  'relu': 'relu',
}
_WIDTH = json_text.optional(json_text.count(1, 65_536))
_NUMBER = json_text.optional(json_text.NUMBER)
# Fields that change a model's outputs, and that must be false or empty.
_OFF = (
  'is_decoder',
  'add_cross_attention',
  'is_encoder_decoder',
  'pruned_heads',
  'quantization_config',
)
_FIELDS = {
  'model_type': json_text.one_of('bert', 'realm'),
  'architectures': json_text.optional(json_text.list_of(json_text.TEXT)),
  'hidden_act': json_text.optional(json_text.one_of(*_ACTIVATIONS)),
  'layer_norm_eps': json_text.optional(
    json_text.number(
      0.999 * bert.LAYER_NORM_EPSILON, 1.001 * bert.LAYER_NORM_EPSILON
    )
  ),
  'position_embedding_type': json_text.optional(json_text.one_of('absolute')),
  'tie_word_embeddings': json_text.optional(json_text.SWITCH),
  'vocab_size': json_files.SIZE,
  'hidden_size': json_files.SIZE,
  'num_hidden_layers': json_files.SIZE,
  'num_attention_heads': json_files.SIZE,
  'intermediate_size': json_files.SIZE,
  'max_position_embeddings': json_files.SIZE,
  'hidden_dropout_prob': _NUMBER,
  'attention_probs_dropout_prob': _NUMBER,
  'retriever_proj_size': _WIDTH,
  'span_hidden_size': _WIDTH,
  'max_span_width': _WIDTH,
  'reader_beam_size': _WIDTH,
  'reader_seq_len': _WIDTH,
  'searcher_beam_size': _WIDTH,
}


def encoder_config(values: dict[str, Any], path: str) -> config_lib.BertConfig:
  """Returns the sizes of an encoder; `path` is for errors."""
  for name in _OFF:
    if values.get(name):
      found = json_text.shown(values[name])
      raise json_files.wrong(path, f'have no {name}', found)
  try:
    return config_lib.BertConfig(
      vocab_size=values['vocab_size'],
      hidden_size=values['hidden_size'],
      num_layers=values['num_hidden_layers'],
      num_heads=values['num_attention_heads'],
      intermediate_size=values['intermediate_size'],
      max_positions=values['max_position_embeddings'],
      dropout_rate=float(values.get('hidden_dropout_prob', 0.1)),
      attention_dropout_rate=float(
        values.get('attention_probs_dropout_prob', 0.1)
      ),
      activation=_ACTIVATIONS[values.get('hidden_act', 'gelu')],
    )
  except ValueError as error:  # A check of BertConfig failed.
    raise json_files.wrong(path, 'be the config of a BERT', error) from error


def reading_config(values: dict[str, Any]) -> config_lib.FinetuningConfig:
  """Returns a REALM's settings of reading, or the defaults for a BERT."""
  default = config_lib.FinetuningConfig()
  if values['model_type'] != 'realm':
    return default
  num_read = values.get('reader_beam_size', default.num_read)
  num_searched = values.get('searcher_beam_size', default.num_searched)
  return config_lib.FinetuningConfig(
    joint_tokens=values.get('reader_seq_len', default.joint_tokens),
    num_read=num_read,
    num_searched=max(num_read, num_searched),
  )


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
  rows: Optional[safetensors_files.Rows]

  def has(self, tower: str) -> bool:
    return any(name.startswith(f'{tower}_bert/') for name in self.arrays)


def read(path: str) -> Directory:
  """Reads a directory; UserError for damaged files and unsupported models."""
  recipe = sentence_transformers.read(path)
  encoder_dir = recipe.encoder_dir
  values = json_files.require(encoder_dir, 'config.json', _FIELDS)
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
    resolve_tied(names, tensors, is_tied, config_path)
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
    reading_config(values),
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
    elif not is_copy(name):
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
  encoder = encoder_config(values, path)
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


_DECODER = 'cls.predictions.decoder.weight'
# Name that we read -> second name.
_TIED = {
  'embeddings.word_embeddings.weight': _DECODER,
  'cls.predictions.bias': 'cls.predictions.decoder.bias',
}
_HEAD = 'cls.predictions.transform.dense.weight'


def is_copy(name: str) -> bool:
  """Returns whether a name is the second name of a shared tensor."""
  return hugging_face_names.modern(name) in _TIED.values()


def resolve_tied(
  names: dict[str, str],
  tensors: safetensors_files.Tensors,
  is_tied: bool,
  config_path: str,
) -> None:
  """Adds shared tensors to `names`; UserError if the head's tensors differ.

  Args:
    names: Name that we read -> name in the file.
    is_tied: Whether the config declares shared weights.
    config_path: config.json, for the error.
  """
  if not is_tied and _HEAD in names and _DECODER not in names:
    raise _untied(config_path, f'no {_DECODER}')
  for read, other in _TIED.items():
    if other in names and read not in names:
      names[read] = names[other]
    elif other in names and not _equal(tensors, names[read], names[other]):
      raise _untied(config_path, f'{names[other]} that is not {names[read]}')


def _equal(tensors: safetensors_files.Tensors, one: str, other: str) -> bool:
  return tensors.shape(one) == tensors.shape(other) and np.array_equal(
    tensors[one], tensors[other]
  )


def _untied(config_path: str, found: str) -> errors.UserError:
  return errors.UserError(
    'The masked-LM head must share its weights with the encoder '
    f'(tie_word_embeddings in {config_path}). Found {found}. Choose another '
    'model, or save it without its head.'
  )
