"""config.json of a BERT or a REALM -> our configs.

Unsupported fields that would change the model's outputs are refused by name.
"""

from typing import Any

import numpy as np

from realm_tf import config as config_lib
from realm_tf.importing import json_files
from realm_tf.modeling import bert
from realm_tf.rundir import json_shapes

_ACTIVATIONS = {
  'gelu': 'gelu',
  'gelu_new': 'gelu_tanh',
  'gelu_pytorch_tanh': 'gelu_tanh',
  'gelu_python': 'gelu',
  'relu': 'relu',
}
_WIDTH = json_shapes.optional(json_shapes.count(1, 65_536))
_NUMBER = json_shapes.optional(json_shapes.NUMBER)
_NO = json_shapes.optional(json_shapes.one_of(False))
_EMPTY = json_shapes.optional(
  json_shapes.Shape('empty', lambda value: not value)
)
_EPSILON = json_shapes.Shape(
  f'{bert.LAYER_NORM_EPSILON}',
  lambda value: (
    json_shapes.NUMBER.holds(value)
    and np.isclose(value, bert.LAYER_NORM_EPSILON, rtol=1e-3, atol=0)
  ),
)
FIELDS = {
  'model_type': json_shapes.one_of('bert', 'realm'),
  'architectures': json_shapes.optional(json_shapes.list_of(json_shapes.TEXT)),
  'hidden_act': json_shapes.optional(json_shapes.one_of(*_ACTIVATIONS)),
  'layer_norm_eps': json_shapes.optional(_EPSILON),
  'position_embedding_type': json_shapes.optional(
    json_shapes.one_of('absolute')
  ),
  'is_decoder': _NO,
  'add_cross_attention': _NO,
  'is_encoder_decoder': _NO,
  'pruned_heads': _EMPTY,
  'quantization_config': _EMPTY,
  'tie_word_embeddings': json_shapes.optional(json_shapes.SWITCH),
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


def encoder(values: dict[str, Any], path: str) -> config_lib.BertConfig:
  """Returns the sizes of an encoder; `path` is for errors."""
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


def finetuning(values: dict[str, Any]) -> config_lib.FinetuningConfig:
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
