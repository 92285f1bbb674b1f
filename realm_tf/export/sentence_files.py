"""An embedder's head -> the files by which sentence-transformers computes it.

  EmbedderConfig, weights -> modules.json, 1_Pooling, 2_Dense, 2_Normalize,
                             sentence_bert_config.json,
                             config_sentence_transformers.json

The spelling is the old one, which every release of sentence-transformers reads.
"""

from collections.abc import Mapping, Sequence
import json
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import weights

_CONFIG = 'config.json'
# Poolings of sentence-transformers by our heads.
_POOLINGS = {'cls': 'cls', 'first': 'cls', 'mean': 'mean', 'max': 'max'}
_ACTIVATIONS = {
  'identity': 'torch.nn.modules.linear.Identity',
  'tanh': 'torch.nn.modules.activation.Tanh',
}


def can_express(embedder: config_lib.EmbedderConfig) -> bool:
  """Returns whether sentence-transformers has modules for a head.

  Its LayerNorm has another epsilon than the 'pooled' head's.
  """
  return embedder.head in _POOLINGS


def write(
  directory: str,
  embedder: config_lib.EmbedderConfig,
  hidden_size: int,
  projection: Mapping[str, np.ndarray],
) -> None:
  """Writes the modules behind the encoder.

  Args:
    directory: Directory that has the encoder.
    embedder: Head that `can_express` allows.
    hidden_size: Width of the encoder.
    projection: 'kernel' [in, out] and, if any, 'bias'; {} without projection.
  """
  modules = [('Transformer', '')]
  _add(directory, modules, 'Pooling', _pooling(embedder.head, hidden_size))
  if projection:
    path = _add(directory, modules, 'Dense', _dense(embedder, projection))
    tensors = {'linear.weight': np.ascontiguousarray(projection['kernel'].T)}
    if 'bias' in projection:
      tensors['linear.bias'] = projection['bias']
    weights.write_arrays(
      tensors, os.path.join(path, 'model.safetensors'), {'format': 'pt'}
    )
  if embedder.normalize:
    _add(directory, modules, 'Normalize', None)
  write_json(
    os.path.join(directory, 'modules.json'),
    [
      {
        'idx': i,
        'name': str(i),
        'path': path,
        'type': f'sentence_transformers.models.{kind}',
      }
      for i, (kind, path) in enumerate(modules)
    ],
  )


def write_settings(
  directory: str,
  max_length: int,
  is_normalized: bool,
  prompts: Mapping[str, str],
) -> None:
  """Writes the longest text, the similarity, and prompts by name."""
  write_json(
    os.path.join(directory, 'sentence_bert_config.json'),
    {'max_seq_length': max_length, 'do_lower_case': False},
  )
  write_json(
    os.path.join(directory, 'config_sentence_transformers.json'),
    {
      'prompts': dict(prompts),
      'default_prompt_name': None,
      'similarity_fn_name': 'cosine' if is_normalized else 'dot',
    },
  )


def write_json(path: str, value: Any) -> None:
  """Writes a value as a file that people can read."""
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(value, indent=2, ensure_ascii=False) + '\n')


def text_of(pieces: Sequence[str]) -> str:
  """Returns a text of wordpieces, with a space behind it; '' of none."""
  return ''.join(
    piece.removeprefix('##') if piece.startswith('##') else f' {piece}'
    for piece in [*pieces, '']
  ).lstrip(' ')


def _add(directory, modules, kind, config):
  """Makes the directory of the next module; returns its path."""
  name = f'{len(modules)}_{kind}'
  path = os.path.join(directory, name)
  tf.io.gfile.makedirs(path)
  if config is not None:
    write_json(os.path.join(path, _CONFIG), config)
  modules.append((kind, name))
  return path


def _pooling(head, hidden_size):
  return {
    'word_embedding_dimension': hidden_size,
    'pooling_mode_cls_token': _POOLINGS[head] == 'cls',
    'pooling_mode_mean_tokens': _POOLINGS[head] == 'mean',
    'pooling_mode_max_tokens': _POOLINGS[head] == 'max',
    'pooling_mode_mean_sqrt_len_tokens': False,
  }


def _dense(embedder, projection):
  in_features, out_features = projection['kernel'].shape
  is_tanh = embedder.head != 'cls' and embedder.dense == 'tanh'
  return {
    'in_features': in_features,
    'out_features': out_features,
    'bias': 'bias' in projection,
    'activation_function': _ACTIVATIONS['tanh' if is_tanh else 'identity'],
  }
