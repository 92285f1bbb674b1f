"""Compares the sizes in a config with the weights before a model is built.

A damaged config may have a hidden size of a billion or a thousand layers, which
would take all memory or minutes.
"""

from collections.abc import Mapping

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors

# Prefix of a network's weights -> section of `ModelConfig`.
_NETWORKS = {
  **dict.fromkeys(
    ('query_bert/', 'block_bert/', 'shared_bert/'), 'embedder_bert'
  ),
  **dict.fromkeys(('reader_bert/', 'tagger_bert/'), 'reader_bert'),
  't5_transformer/': 'seq2seq',
  **dict.fromkeys(
    ('query_embedder/', 'block_embedder/', 'shared_embedder/'), 'embedder'
  ),
}
# Weights of a network -> the config field of each axis; None is unchecked.
_AXES = {
  'word_embeddings/embeddings': ('vocab_size', 'hidden_size'),
  'position_embedding/embeddings': ('max_positions', 'hidden_size'),
  'transformer/layer_0/self_attention/query/kernel': (None, 'num_heads'),
  'transformer/layer_0/intermediate/kernel': (None, 'intermediate_size'),
  'shared/embedding': ('vocab_size', 'hidden_size'),
  'encoder/relative_posemb/rel_embedding/embedding': (
    'num_buckets',
    'num_heads',
  ),
  'encoder/encoder_block_0/ffn/wo/kernel': ('intermediate_size',),
  'projection/kernel': (None, 'embedding_size'),
}
# Beginning of a layer's name -> the config field of their number.
_LAYERS = {
  'transformer/layer_': 'num_layers',
  'encoder/encoder_block_': 'num_layers',
  'decoder/decoder_block_': 'num_decoder_layers',
}
_T5_QUERY = (
  't5_transformer/encoder/encoder_block_0/self_attention/attention/q/kernel'
)


def check(
  config: config_lib.ModelConfig,
  arrays: Mapping[str, np.ndarray],
  params_path: str,
) -> None:
  """Raises UserError for the first size that differs from the weights.

  Networks without weights are not checked.
  """
  shapes = {name: array.shape for name, array in arrays.items()}
  for prefix, section in _NETWORKS.items():
    sizes = getattr(config, section)
    own = {
      name.removeprefix(prefix): shape
      for name, shape in shapes.items()
      if name.startswith(prefix)
    }
    found = {
      field: size
      for name, fields in _AXES.items()
      for field, size in zip(fields, own.get(name, ()))
      if field
    }
    for start, field in _LAYERS.items():
      names = [name for name in own if name.startswith(start)]
      layers = {name[len(start) :].partition('/')[0] for name in names}
      if layers:
        found[field] = len(layers)
    for field, size in found.items():
      expected = getattr(sizes, field, size)
      if field == 'num_decoder_layers':
        expected = expected or sizes.num_layers
      _compare(f'{section}.{field}', expected, size, params_path)
  t5 = config.seq2seq
  width = [*shapes.get(_T5_QUERY, ()), 0, 0][1]
  _compare(
    'seq2seq.head_size', t5.head_size, width // t5.num_heads, params_path
  )
  width = [*shapes.get('span_reader/projection/kernel', ()), 0, 0][1]
  _compare('span_hidden_size', config.span_hidden_size, width // 2, params_path)
  longest = config.reader_bert.max_positions
  if width and config.max_span_width > longest:
    raise errors.UserError(
      f'`model.max_span_width` in config.json must be at most {longest}, the '
      f'longest sequence. Found {config.max_span_width}. Use the config of the '
      "model's training."
    )


def _compare(field: str, size: int, found: int, params_path: str) -> None:
  if found and size != found:
    raise errors.UserError(
      f'`model.{field}` in config.json must be {found}, as in the weights of '
      f'{params_path}. Found {size}. Use the config of their training.'
    )
