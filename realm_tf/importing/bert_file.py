"""Reads config.json of a BERT; refuses what computes another function.

config.json -> [this file] -> BertConfig
"""

import reprlib

import numpy as np

from realm_tf import config as config_lib
from realm_tf.importing import imported
from realm_tf.importing import json_file
from realm_tf.importing import sentence_modules

_ACTIVATIONS = {
  'gelu': 'gelu',
  'gelu_new': 'gelu_tanh',
  'gelu_pytorch_tanh': 'gelu_tanh',
  'gelu_python': 'gelu',
  'relu': 'relu',
}
# Switches of transformers' BertConfig that change what a BERT computes.
_SWITCHES = {
  'position_embedding_type': 'absolute',
  'is_decoder': False,
  'add_cross_attention': False,
  'is_encoder_decoder': False,
}
_MUST_BE_EMPTY = 'pruned_heads', 'quantization_config'
_MAX_WIDTH = 65_536  # Of heads, which a file need not have.


def read(directory: str) -> json_file.JsonFile:
  """Returns config.json of a directory, or where its modules.json says.

  Raises:
    UserError: There is none, or it is damaged.
  """
  return json_file.require(
    sentence_modules.encoder_dir(directory), 'config.json'
  )


def architecture(found: json_file.JsonFile) -> str:
  """Returns the class of the model, '' if config.json has none."""
  names = found.get('architectures', list, [])
  return names[0] if names and type(names[0]) is str else ''


def bert_config(found: json_file.JsonFile) -> config_lib.BertConfig:
  """Returns the sizes of an encoder.

  Raises:
    UserError: It is another model, or a field is missing or wrong.
  """
  activation = found.get('hidden_act', str, 'gelu')
  epsilon = found.get('layer_norm_eps', float, imported.LAYER_NORM_EPSILON)
  kind = found.get('model_type', str)
  if (
    kind not in ('bert', 'realm')
    or activation not in _ACTIVATIONS
    or not np.isclose(epsilon, imported.LAYER_NORM_EPSILON, rtol=1e-3, atol=0)
  ):
    raise found.wrong(
      'must be of a BERT or REALM model with GELU or ReLU and layer_norm_eps '
      f'{imported.LAYER_NORM_EPSILON}',
      f'model_type={kind!r}, hidden_act={activation!r}, '
      f'layer_norm_eps={epsilon}',
    )
  _check_switches(found)
  try:
    return config_lib.BertConfig(
      vocab_size=found.get('vocab_size', int),
      hidden_size=found.get('hidden_size', int),
      num_layers=found.get('num_hidden_layers', int),
      num_heads=found.get('num_attention_heads', int),
      intermediate_size=found.get('intermediate_size', int),
      max_positions=found.get('max_position_embeddings', int),
      dropout_rate=found.get('hidden_dropout_prob', float, 0.1),
      attention_dropout_rate=found.get(
        'attention_probs_dropout_prob', float, 0.1
      ),
      activation=_ACTIVATIONS[activation],
    )
  except ValueError as error:  # From the config's own checks.
    raise found.wrong('must be the config of a BERT', str(error)) from error


def width(found: json_file.JsonFile, name: str, default: int) -> int:
  """Returns the width of a head, a number that the weights need not bound."""
  value = found.get(name, int, default)
  if not 0 < value <= _MAX_WIDTH:
    raise found.wrong(f'must have {name} up to {_MAX_WIDTH}', str(value))
  return value


def _check_switches(found):
  for name, value in _SWITCHES.items():
    given = found.get(name, type(value), value)
    if given != value:
      raise found.wrong(
        f'must have {name}={value!r}, as only that is computed',
        reprlib.repr(given),
      )
  for name in _MUST_BE_EMPTY:
    if found.values.get(name):
      raise found.wrong(
        f'must be of a BERT as it was trained, without {name}',
        reprlib.repr(found.values[name]),
      )
