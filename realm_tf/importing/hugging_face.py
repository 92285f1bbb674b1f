"""A Hugging Face directory -> our config and values of our variables.

  config.json, model.safetensors -> [this file] -> RealmModel.load

Reads BERT and REALM models (`google/realm-*`) without torch or transformers.
"""

from collections.abc import Mapping
import json
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import safetensors_files

BLOCK_EMBEDDINGS = 'block_emb'  # The name of the index's matrix.
_ACTIVATIONS = {
  'gelu': 'gelu',
  'gelu_new': 'gelu_tanh',
  'gelu_pytorch_tanh': 'gelu_tanh',
  'gelu_python': 'gelu',
  'relu': 'relu',
}


def bert_config(directory: str) -> config_lib.BertConfig:
  """Reads the sizes of the encoder from config.json.

  Raises:
    UserError: There is no such file, or we have no such model.
  """
  path = os.path.join(directory, 'config.json')
  found = read_config(directory)
  try:
    activation = _ACTIVATIONS.get(found.get('hidden_act', 'gelu'))
    epsilon = found.get('layer_norm_eps', imported.LAYER_NORM_EPSILON)
    if (
      found['model_type'] not in ('bert', 'realm')
      or activation is None
      or not np.isclose(epsilon, imported.LAYER_NORM_EPSILON, rtol=1e-3, atol=0)
    ):
      raise errors.UserError(
        f'{path} must be of a BERT or REALM model with GELU or ReLU and '
        f'layer_norm_eps {imported.LAYER_NORM_EPSILON}. Found model_type='
        f'{found["model_type"]!r}, hidden_act={found.get("hidden_act")!r}, '
        f'layer_norm_eps={epsilon}. Choose another model.'
      )
    return config_lib.BertConfig(
      vocab_size=found['vocab_size'],
      hidden_size=found['hidden_size'],
      num_layers=found['num_hidden_layers'],
      num_heads=found['num_attention_heads'],
      intermediate_size=found['intermediate_size'],
      max_positions=found['max_position_embeddings'],
      dropout_rate=found.get('hidden_dropout_prob', 0.1),
      attention_dropout_rate=found.get('attention_probs_dropout_prob', 0.1),
      activation=activation,
    )
  except KeyError as error:
    raise errors.UserError(
      f'{path} must be the config of a BERT model. It has no {error}. Check '
      '--source=hf:DIR.'
    ) from error
  except (TypeError, ValueError) as error:  # From the config's own checks.
    raise errors.UserError(
      f'{path} must be the config of a BERT model. Found: {error} Check '
      '--source=hf:DIR.'
    ) from error


def model_config(directory: str) -> config_lib.ModelConfig:
  """Returns the networks that the directory's weights belong to.

  REALM models have the release's embedder. A sentence-transformers directory
  (with 1_Pooling) searches by the normalized mean over wordpieces, at scale 20
  as its training did; of a plain BERT only the encoders are taken over.
  """
  encoder = bert_config(directory)
  found = read_config(directory)
  embedder = config_lib.EmbedderConfig()
  if found['model_type'] == 'realm':
    embedder = config_lib.EmbedderConfig(
      head='pooled',
      embedding_size=found['retriever_proj_size'],
      shared_towers=architecture(found) != 'RealmScorer',
      layer_norm_epsilon=imported.LAYER_NORM_EPSILON,
    )
  elif tf.io.gfile.isdir(os.path.join(directory, '1_Pooling')):
    embedder = config_lib.EmbedderConfig(
      head='mean',
      embedding_size=encoder.hidden_size,
      normalize=True,
      score_scale=20.0,
      shared_towers=True,
    )
  return config_lib.ModelConfig(
    embedder_bert=encoder,
    reader_bert=encoder,
    embedder=embedder,
    span_hidden_size=found.get('span_hidden_size', 256),
    max_span_width=found.get('max_span_width', 10),
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
  found = read_config(directory)
  roles = hugging_face_names.ROLES.get(
    architecture(found), hugging_face_names.BERT_ROLES
  )
  arrays, report = hugging_face_names.convert(
    safetensors_files.read(directory, [BLOCK_EMBEDDINGS]),
    bert_config(directory),
    roles,
  )
  imported.check_whole(report, arrays, directory)
  return arrays, report


def read_config(directory: str) -> dict[str, Any]:
  """Returns config.json; UserError if there is none, or it is damaged."""
  path = os.path.join(directory, 'config.json')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      'A Hugging Face directory must have a config.json. Found none in '
      f'{directory}. Check --source=hf:DIR.'
    )
  with tf.io.gfile.GFile(path) as file:
    try:
      return json.load(file)
    except json.JSONDecodeError as error:
      raise errors.UserError(
        f'{path} must be JSON. Found: {error}. Copy it again.'
      ) from error


def architecture(found: Mapping[str, Any]) -> str:
  """Returns the class of the model, '' if config.json has none."""
  return (found.get('architectures') or [''])[0]
