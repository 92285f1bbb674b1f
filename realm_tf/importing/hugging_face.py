"""A Hugging Face directory -> our config and values of our variables.

  config.json, modules.json, model.safetensors -> [this file] -> RealmModel.load

Reads BERT and REALM models (`google/realm-*`), and sentence-transformers of
BERTs, without torch or transformers.
"""

import os

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import bert_file
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import json_file
from realm_tf.importing import safetensors_files
from realm_tf.importing import sentence_modules
from realm_tf.importing import sentence_settings
from realm_tf.importing import tied_names

BLOCK_EMBEDDINGS = 'block_emb'  # The name of the index's matrix.
_NORMALIZED_SCALE = 20.0  # As sentence-transformers trains them.


def bert_config(directory: str) -> config_lib.BertConfig:
  """Reads the sizes of the encoder from config.json.

  Raises:
    UserError: There is no such file, or we have no such model.
  """
  return bert_file.bert_config(bert_file.read(directory))


def settings(directory: str) -> sentence_settings.Settings:
  """Returns prompts, length and similarity of a directory."""
  modules = sentence_modules.read(directory)
  encoder_dir = directory if modules is None else modules.encoder_dir
  return sentence_settings.read(directory, encoder_dir, modules is not None)


def model_config(directory: str) -> config_lib.ModelConfig:
  """Returns the networks that the directory's weights belong to.

  REALM models have the release's embedder, sentence-transformers that of their
  modules.json. A plain BERT searches by the normalized mean over wordpieces, as
  sentence-transformers takes it.
  """
  found = bert_file.read(directory)
  encoder = bert_file.bert_config(found)
  modules = sentence_modules.read(directory)
  if found.get('model_type', str) == 'realm':
    embedder = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=bert_file.width(found, 'retriever_proj_size', 128),
      shared_towers=bert_file.architecture(found) != 'RealmScorer',
      layer_norm_epsilon=imported.LAYER_NORM_EPSILON,
    )
  elif modules is None:
    embedder = _embedder('mean', encoder.hidden_size, 'none', True)
  else:
    embedder = _sentence_embedder(directory, modules, encoder)
  return config_lib.ModelConfig(
    embedder_bert=encoder,
    reader_bert=encoder,
    embedder=embedder,
    span_hidden_size=bert_file.width(found, 'span_hidden_size', 256),
    max_span_width=bert_file.width(found, 'max_span_width', 10),
  )


def load_bert(
  directory: str,
) -> tuple[dict[str, np.ndarray], hugging_face_names.Report]:
  """Reads the weights, named as `modeling.realm_model.RealmModel` names them.

  Embeddings of blocks are left out.

  Returns:
    Values by variable name, for `RealmModel.load`, and the report. One shared
    embedder tower is named 'shared_'; `RealmModel.load` fills two from it.

  Raises:
    UserError: A file is missing, or the encoder is not whole.
  """
  found = bert_file.read(directory)
  model = model_config(directory)
  encoder_dir = sentence_modules.encoder_dir(directory)
  _refuse_adapter(encoder_dir)
  tensors = safetensors_files.open_directory(encoder_dir)
  names = tied_names.resolve(
    {hugging_face_names.modern(name): name for name in tensors}, tensors, found
  )
  roles = hugging_face_names.ROLES.get(
    bert_file.architecture(found), hugging_face_names.BERT_ROLES
  )
  shapes = {name: tensors.shape(names[name]) for name in names}
  hugging_face_names.check_sizes(shapes, model, roles, found.path)
  arrays, report = hugging_face_names.convert(
    tensors, model.reader_bert, roles, names
  )
  report.left_over[:] = [
    name
    for name in report.left_over
    if name != BLOCK_EMBEDDINGS and not tied_names.is_copy(name)
  ]
  imported.check_whole(report, arrays, directory)
  return arrays | _unread_poolers(model, report) | _dense(directory), report


def _unread_poolers(model, report):
  """Returns zeros for the poolers that a file lacks and no head reads."""
  size = model.reader_bert.hidden_size
  shapes = {'bias': (size,), 'kernel': (size, size)}
  return {
    name: np.zeros(shapes[name.rpartition('/')[2]], np.float32)
    for name in report.missing
    if name.startswith('reader_') or model.embedder.head != 'pooled'
  }


def _refuse_adapter(directory):
  if tf.io.gfile.exists(os.path.join(directory, 'adapter_config.json')):
    raise errors.UserError(
      'A Hugging Face directory must hold a whole model. Found the adapter of '
      f'one, adapter_config.json in {directory}. Merge it first, with '
      'merge_and_unload() of peft.'
    )


def _dense(directory):
  """Returns the projection of 2_Dense by our names."""
  modules = sentence_modules.read(directory)
  if modules is None or modules.dense is None:
    return {}
  return {
    f'shared_embedder/projection/{name}': value
    for name, value in sentence_modules.read_dense(modules.dense).items()
  }


def _sentence_embedder(directory, modules, encoder):
  """Returns the embedder of sentence-transformers' modules."""
  uses = settings(directory)
  size, activation = encoder.hidden_size, 'none'
  path = os.path.join(directory, 'modules.json')
  file = json_file.JsonFile(path, {})
  if modules.dense is not None:
    if modules.dense.in_features != size:
      raise file.wrong(
        f'must have a Dense of in_features={size}, as hidden_size',
        str(modules.dense.in_features),
      )
    size, activation = modules.dense.out_features, modules.dense.activation
    if size < 1:
      raise file.wrong('must have a Dense with out_features', str(size))
  if not modules.include_prompt and (uses.query_prompt or uses.block_prompt):
    raise file.wrong(
      'must have a Pooling that reads prompts', 'include_prompt=false'
    )
  # The cosine is the inner product of normalized embeddings.
  normalize = modules.normalize or uses.similarity == 'cosine'
  return _embedder(modules.head, size, activation, normalize)


def _embedder(head, size, dense, normalize):
  return config_lib.EmbedderConfig(
    head=head,
    embedding_size=size,
    dense=dense,
    normalize=normalize,
    score_scale=_NORMALIZED_SCALE if normalize else 1.0,
    shared_towers=True,
  )
