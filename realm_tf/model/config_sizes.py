"""Compares the sizes in a config with the weights before a model is built.

A damaged config may have a hidden size of a billion or a thousand layers, which
would take all memory or minutes.
"""

from collections.abc import Mapping, Sequence
from typing import Optional

from realm_tf import config as config_lib
from realm_tf import errors

Shapes = Mapping[str, Sequence[int]]
# Weights -> the config field of each axis; None leaves an axis unchecked.
_Axes = Mapping[str, tuple[Optional[str], ...]]
_BERT_AXES: _Axes = {
  'word_embeddings/embeddings': ('vocab_size', 'hidden_size'),
  'position_embedding/embeddings': ('max_positions', 'hidden_size'),
  'transformer/layer_0/self_attention/query/kernel': (None, 'num_heads', None),
  'transformer/layer_0/intermediate/kernel': (None, 'intermediate_size'),
}
_T5_AXES: _Axes = {
  'shared/embedding': ('vocab_size', 'hidden_size'),
  'encoder/relative_posemb/rel_embedding/embedding': (
    'num_buckets',
    'num_heads',
  ),
  'encoder/encoder_block_0/ffn/wo/kernel': ('intermediate_size', None),
}
_T5_QUERY = 'encoder/encoder_block_0/self_attention/attention/q/kernel'
# Section of `ModelConfig` -> prefixes of networks, axes, prefixes of layers.
_NETWORKS = {
  'embedder_bert': (
    ('query_bert/', 'block_bert/', 'shared_bert/'),
    _BERT_AXES,
    {'num_layers': 'transformer/layer_'},
  ),
  'reader_bert': (
    ('reader_bert/', 'tagger_bert/'),
    _BERT_AXES,
    {'num_layers': 'transformer/layer_'},
  ),
  'seq2seq': (
    ('t5_transformer/',),
    _T5_AXES,
    {
      'num_layers': 'encoder/encoder_block_',
      'num_decoder_layers': 'decoder/decoder_block_',
    },
  ),
}
_PROJECTIONS = [
  f'{tower}_embedder/projection/kernel'
  for tower in ('query', 'block', 'shared')
]


def check(
  config: config_lib.ModelConfig, shapes: Shapes, params_path: str
) -> None:
  """Raises UserError for the first size that differs from the weights.

  Networks without weights are not checked.
  """
  for section, (prefixes, axes, layers) in _NETWORKS.items():
    sizes = getattr(config, section)
    for prefix in prefixes:
      found = _sizes(shapes, prefix, axes)
      for field, name in layers.items():
        found[field] = _num_layers(shapes, prefix + name)
      for field, size in found.items():
        expected = getattr(sizes, field)
        if field == 'num_decoder_layers':
          expected = expected or sizes.num_layers
        _compare(f'{section}.{field}', expected, size, params_path)
  t5 = config.seq2seq
  width = _axis(shapes, f't5_transformer/{_T5_QUERY}', 1)
  found = width // t5.num_heads
  _compare('seq2seq.head_size', t5.head_size, found, params_path)
  for name in _PROJECTIONS:
    size, found = config.embedder.embedding_size, _axis(shapes, name, 1)
    _compare('embedder.embedding_size', size, found, params_path)
  found = _axis(shapes, 'span_reader/projection/kernel', 1) // 2
  _compare('span_hidden_size', config.span_hidden_size, found, params_path)
  longest = config.reader_bert.max_positions
  if found and config.max_span_width > longest:
    raise errors.UserError(
      f'`model.max_span_width` in config.json must be at most {longest}, the '
      f'longest sequence. Found {config.max_span_width}. Use the config of the '
      "model's training."
    )


def _sizes(shapes: Shapes, prefix: str, axes: _Axes) -> dict[str, int]:
  """Returns fields -> sizes in the weights, 0 for absent weights."""
  return {
    field: _axis(shapes, prefix + name, axis)
    for name, fields in axes.items()
    for axis, field in enumerate(fields)
    if field
  }


def _axis(shapes: Shapes, name: str, axis: int) -> int:
  shape = shapes.get(name, ())
  return shape[axis] if axis < len(shape) else 0


def _num_layers(shapes: Shapes, prefix: str) -> int:
  """Returns the number of layers under a prefix."""
  names = [name for name in shapes if name.startswith(prefix)]
  return len({name[len(prefix) :].partition('/')[0] for name in names})


def _compare(field: str, size: int, found: int, params_path: str) -> None:
  if found and size != found:
    raise errors.UserError(
      f'`model.{field}` in config.json must be {found}, as in the weights of '
      f'{params_path}. Found {size}. Use the config of their training.'
    )
