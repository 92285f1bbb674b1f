"""Compares the sizes in a config with the weights, before a model is built.

  config, shapes of the weights by name -> nothing, or the field that is wrong

A network that is built first takes all memory, or minutes, where a config that
was damaged has a hidden size of a billion or a thousand layers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Optional

from realm_tf import config as config_lib
from realm_tf import errors

Shapes = Mapping[str, Sequence[int]]
# Section of `ModelConfig` -> prefixes of the encoders that it sizes.
_ENCODERS = {
  'embedder_bert': ('query_bert/', 'block_bert/', 'shared_bert/'),
  'reader_bert': ('reader_bert/', 'tagger_bert/'),
}
# Weights -> field of each axis; None is no field, or one that is checked above.
_ENCODER_AXES = {
  'word_embeddings/embeddings': ('vocab_size', 'hidden_size'),
  'position_embedding/embeddings': ('max_positions', 'hidden_size'),
  'transformer/layer_0/self_attention/query/kernel': (None, 'num_heads', None),
  'transformer/layer_0/intermediate/kernel': (None, 'intermediate_size'),
}
_T5 = 't5_transformer/'
_T5_AXES = {
  'shared/embedding': ('vocab_size', 'hidden_size'),
  'encoder/relative_posemb/rel_embedding/embedding': (
    'num_buckets',
    'num_heads',
  ),
  'encoder/encoder_block_0/ffn/wo/kernel': ('intermediate_size', None),
}


def check(
  config: config_lib.ModelConfig, shapes: Shapes, params_path: str
) -> None:
  """Raises UserError for the first field that the weights do not have.

  Networks of which `shapes` has no weights are not checked.

  Args:
    shapes: Name of each of the weights -> its shape.
    params_path: Directory of the weights, for the error.
  """
  for section, prefixes in _ENCODERS.items():
    sizes = getattr(config, section)
    for prefix in prefixes:
      for field, found in _sizes(shapes, prefix, _ENCODER_AXES).items():
        _compare(
          f'{section}.{field}', getattr(sizes, field), found, params_path
        )
      found = _num_layers(shapes, f'{prefix}transformer/layer_')
      if found:
        name = f'{section}.num_layers'
        _compare(name, sizes.num_layers, found, params_path)
  for tower in ('query', 'block', 'shared'):
    found = _axis(shapes, f'{tower}_embedder/projection/kernel', 1)
    if found is not None:
      expected = config.embedder.embedding_size
      _compare('embedder.embedding_size', expected, found, params_path)
  found = _axis(shapes, 'span_reader/projection/kernel', 1)
  if found is not None:
    size = config.span_hidden_size
    _compare('span_hidden_size', size, found // 2, params_path)
    longest = config.reader_bert.max_positions
    if config.max_span_width > longest:
      raise errors.UserError(
        f'`model.max_span_width` in config.json must be at most {longest}, the '
        f'longest sequence. Found {config.max_span_width}. Use the config that '
        'the model was trained with.'
      )
  _check_t5(config.seq2seq, shapes, params_path)


def _check_t5(config, shapes, params_path):
  for field, found in _sizes(shapes, _T5, _T5_AXES).items():
    _compare(f'seq2seq.{field}', getattr(config, field), found, params_path)
  num_decoder_layers = config.num_decoder_layers or config.num_layers
  for part, field, size in (
    ('encoder', 'num_layers', config.num_layers),
    ('decoder', 'num_decoder_layers', num_decoder_layers),
  ):
    found = _num_layers(shapes, f'{_T5}{part}/{part}_block_')
    if found:
      _compare(f'seq2seq.{field}', size, found, params_path)
  kernel = f'{_T5}encoder/encoder_block_0/self_attention/attention/q/kernel'
  found = _axis(shapes, kernel, 1)
  if found is not None:
    found = found // config.num_heads
    _compare('seq2seq.head_size', config.head_size, found, params_path)


def _sizes(shapes, prefix, axes) -> dict[str, int]:
  """Returns field -> size in the weights, where these are there."""
  return {
    field: found
    for name, fields in axes.items()
    for axis, field in enumerate(fields)
    if field and (found := _axis(shapes, prefix + name, axis)) is not None
  }


def _axis(shapes: Shapes, name: str, axis: int) -> Optional[int]:
  shape = shapes.get(name, ())
  return shape[axis] if axis < len(shape) else None


def _num_layers(shapes: Shapes, prefix: str) -> int:
  """Returns the number of different layers with names that begin so."""
  return len(
    {
      name[len(prefix) :].partition('/')[0]
      for name in shapes
      if name.startswith(prefix)
    }
  )


def _compare(field: str, size: Any, found: int, params_path: str) -> None:
  if size != found:
    raise errors.UserError(
      f'`model.{field}` in config.json must be {found}, as in the weights of '
      f'{params_path}. Found {size}. Use the config that they were trained '
      'with.'
    )
