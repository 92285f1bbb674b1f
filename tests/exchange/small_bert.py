"""Small BERTs with random weights in Hugging Face's format."""

from collections.abc import Mapping, Sequence
import json
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
    **norm('embeddings.LayerNorm', hidden),
    **linear('pooler.dense', hidden, hidden),
  }
  for n in range(config['num_hidden_layers']):
    layer = f'encoder.layer.{n}.'
    for part in ('query', 'key', 'value'):
      shapes |= linear(f'{layer}attention.self.{part}', hidden, hidden)
    shapes |= {
      **linear(layer + 'attention.output.dense', hidden, hidden),
      **norm(layer + 'attention.output.LayerNorm', hidden),
      **linear(layer + 'intermediate.dense', hidden, inner),
      **linear(layer + 'output.dense', inner, hidden),
      **norm(layer + 'output.LayerNorm', hidden),
    }
  return {
    name: rng.normal(size=shape).astype(np.float32)
    for name, shape in shapes.items()
  }


def linear(name, fan_in, fan_out):
  """Returns the shapes of a Dense layer."""
  return {name + '.weight': (fan_out, fan_in), name + '.bias': (fan_out,)}


def norm(name, size):
  """Returns the shapes of a LayerNorm."""
  return {name + '.weight': (size,), name + '.bias': (size,)}
