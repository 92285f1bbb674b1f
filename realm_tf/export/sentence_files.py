"""An embedder's head -> the files that sentence-transformers reads.

The spelling is the old one, which all releases of sentence-transformers read.
"""

from collections.abc import Mapping
import json
import os
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import weights

# Our head -> pooling of sentence-transformers.
_POOLINGS = {
  'cls': 'cls_token',
  'first': 'cls_token',
  'mean': 'mean_tokens',
  'max': 'max_tokens',
}
_MODES = ('cls_token', 'mean_tokens', 'max_tokens', 'mean_sqrt_len_tokens')
_IDENTITY = 'torch.nn.modules.linear.Identity'
_TANH = 'torch.nn.modules.activation.Tanh'


def can_express(embedder: config_lib.EmbedderConfig) -> bool:
  """Returns whether sentence-transformers has modules for a head."""
  return embedder.head in _POOLINGS


def write(
  directory: str,
  model: config_lib.ModelConfig,
  projection: Mapping[str, np.ndarray],
  max_length: int,
  prompts: Mapping[str, str],
) -> None:
  """Writes the modules after the encoder, and their settings.

  Args:
    directory: Directory of the encoder.
    projection: 'kernel' [in, out] and, if any, 'bias'; {} without projection.
    max_length: Wordpieces of the longest text.
    prompts: Prompts by sentence-transformers' names.
  """
  embedder = model.embedder
  modules = _Modules(directory)
  pooling = _pooling(embedder.head, model.embedder_bert.hidden_size)
  modules.add('Pooling', pooling)
  if projection:
    path = modules.add('Dense', _dense(embedder, projection))
    tensors = {'linear.weight': projection['kernel'].T}
    if 'bias' in projection:
      tensors['linear.bias'] = projection['bias']
    weights.write_arrays(
      tensors, os.path.join(path, 'model.safetensors'), {'format': 'pt'}
    )
  if embedder.normalize:
    modules.add('Normalize')
  write_json(os.path.join(directory, 'modules.json'), modules.entries)
  write_json(
    os.path.join(directory, 'sentence_bert_config.json'),
    {'max_seq_length': max_length, 'do_lower_case': False},
  )
  write_json(
    os.path.join(directory, 'config_sentence_transformers.json'),
    {
      'prompts': dict(prompts),
      'default_prompt_name': None,
      'similarity_fn_name': 'cosine' if embedder.normalize else 'dot',
    },
  )


def write_json(path: str, value: Any) -> None:
  """Writes a value as indented JSON."""
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(value, indent=2, ensure_ascii=False) + '\n')


class _Modules:
  """The list in modules.json; the encoder is the first entry."""

  def __init__(self, directory: str):
    self._directory = directory
    self.entries: list[dict[str, Any]] = []
    self._append('Transformer', '')

  def add(self, kind: str, config: Optional[dict[str, Any]] = None) -> str:
    """Makes the directory of the next module; returns its path."""
    name = f'{len(self.entries)}_{kind}'
    path = os.path.join(self._directory, name)
    tf.io.gfile.makedirs(path)
    if config is not None:
      write_json(os.path.join(path, 'config.json'), config)
    self._append(kind, name)
    return path

  def _append(self, kind, path):
    number = len(self.entries)
    self.entries.append(
      {
        'idx': number,
        'name': str(number),
        'path': path,
        'type': f'sentence_transformers.models.{kind}',
      }
    )


def _pooling(head, hidden_size):
  switches = {f'pooling_mode_{m}': m == _POOLINGS[head] for m in _MODES}
  return {'word_embedding_dimension': hidden_size, **switches}


def _dense(embedder, projection):
  in_features, out_features = projection['kernel'].shape
  is_tanh = embedder.head != 'cls' and embedder.dense == 'tanh'
  return {
    'in_features': in_features,
    'out_features': out_features,
    'bias': 'bias' in projection,
    'activation_function': _TANH if is_tanh else _IDENTITY,
  }
