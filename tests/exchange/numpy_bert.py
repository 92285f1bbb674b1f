"""BERT in NumPy with Hugging Face's names, to compare imported models with."""

from collections.abc import Mapping, Sequence
import json
import math
import pathlib
from typing import Any

import numpy as np

from realm_tf.model import weights as weights_lib

# Hugging Face's config of a small model.
CONFIG = {
  'architectures': ['BertModel'],
  'model_type': 'bert',
  'hidden_act': 'gelu',
  'hidden_size': 6,
  'num_hidden_layers': 2,
  'num_attention_heads': 2,
  'intermediate_size': 10,
  'vocab_size': 11,
  'max_position_embeddings': 7,
  'layer_norm_eps': 1e-12,
}
_erf = np.vectorize(math.erf)


def write(
  directory: str,
  config: Mapping[str, Any],
  weights: Mapping[str, np.ndarray],
  pieces: Sequence[str] = (),
) -> None:
  """Writes a directory as transformers does; `pieces` are its vocabulary."""
  folder = pathlib.Path(directory)
  folder.mkdir(exist_ok=True)
  (folder / 'config.json').write_text(json.dumps(config))
  if pieces:
    (folder / 'vocab.txt').write_text('\n'.join(pieces))
  weights_lib.write(weights, str(folder / 'model.safetensors'))


def random_weights(config, rng):
  """Returns weights by Hugging Face's names; kernels are [out, in]."""
  hidden, inner = config['hidden_size'], config['intermediate_size']
  shapes = {
    'embeddings.word_embeddings.weight': (config['vocab_size'], hidden),
    'embeddings.position_embeddings.weight': (
      config['max_position_embeddings'],
      hidden,
    ),
    'embeddings.token_type_embeddings.weight': (2, hidden),
    **_norm('embeddings.LayerNorm', hidden),
    **_linear('pooler.dense', hidden, hidden),
  }
  for n in range(config['num_hidden_layers']):
    layer = f'encoder.layer.{n}.'
    for part in ('query', 'key', 'value'):
      shapes |= _linear(f'{layer}attention.self.{part}', hidden, hidden)
    shapes |= {
      **_linear(layer + 'attention.output.dense', hidden, hidden),
      **_norm(layer + 'attention.output.LayerNorm', hidden),
      **_linear(layer + 'intermediate.dense', hidden, inner),
      **_linear(layer + 'output.dense', inner, hidden),
      **_norm(layer + 'output.LayerNorm', hidden),
    }
  return {
    name: rng.normal(size=shape).astype(np.float32)
    for name, shape in shapes.items()
  }


def forward(weights, config, ids, mask, types):
  """Returns states [B, L, H] and the pooled output [B, H]."""
  embeddings = (
    weights['embeddings.word_embeddings.weight'][ids]
    + weights['embeddings.position_embeddings.weight'][: ids.shape[1]]
    + weights['embeddings.token_type_embeddings.weight'][types]
  )
  states = _layer_norm(weights, 'embeddings.LayerNorm', embeddings)
  for n in range(config['num_hidden_layers']):
    layer = f'encoder.layer.{n}.'
    attended = _dense(
      weights,
      layer + 'attention.output.dense',
      _attention(
        weights,
        layer + 'attention.self.',
        states,
        mask,
        config['num_attention_heads'],
      ),
    )
    states = _layer_norm(
      weights, layer + 'attention.output.LayerNorm', states + attended
    )
    inner = _gelu(
      _dense(weights, layer + 'intermediate.dense', states),
      config['hidden_act'],
    )
    output = _dense(weights, layer + 'output.dense', inner)
    states = _layer_norm(weights, layer + 'output.LayerNorm', states + output)
  return states, np.tanh(_dense(weights, 'pooler.dense', states[:, 0]))


def _attention(weights, prefix, states, mask, num_heads):
  batch, length, hidden = states.shape

  def heads(part):
    projected = _dense(weights, prefix + part, states)
    return projected.reshape(batch, length, num_heads, -1)

  scores = np.einsum('bqhd,bkhd->bhqk', heads('query'), heads('key'))
  scores = scores / np.sqrt(hidden / num_heads)
  scores = np.where(mask[:, None, None, :] == 1, scores, -1e9)
  weight = np.exp(scores - scores.max(-1, keepdims=True))
  weight /= weight.sum(-1, keepdims=True)
  return np.einsum('bhqk,bkhd->bqhd', weight, heads('value')).reshape(
    states.shape
  )


def _gelu(x, name):
  if name == 'gelu':
    return x * 0.5 * (1 + _erf(x / np.sqrt(2)))
  return x * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def _dense(weights, name, x):
  return x @ weights[name + '.weight'].T + weights[name + '.bias']


def _layer_norm(weights, name, x):
  mean = x.mean(-1, keepdims=True)
  variance = ((x - mean) ** 2).mean(-1, keepdims=True)
  scaled = (x - mean) / np.sqrt(variance + 1e-12)
  return scaled * weights[name + '.weight'] + weights[name + '.bias']


def _linear(name, fan_in, fan_out):
  return {name + '.weight': (fan_out, fan_in), name + '.bias': (fan_out,)}


def _norm(name, size):
  return {name + '.weight': (size,), name + '.bias': (size,)}
