"""Translates names and shapes of weights between Hugging Face and here.

  {their name: array} -> [this file] -> {our variable's name: array}

Theirs and ours are the same function. nn.Linear keeps kernels as [out, in];
ours are [in, out], with the attention heads as an axis of their own.
"""

from collections.abc import Mapping
import re
from typing import NamedTuple, Optional

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors

# Which of our towers a name's prefix fills, by the model's architecture.
ROLES = {
  'RealmEmbedder': {'': ('shared',)},
  'RealmScorer': {'query_embedder.': ('query',), 'embedder.': ('block',)},
  'RealmKnowledgeAugEncoder': {'': ('reader',)},
  'RealmReader': {'': ('reader',)},
  'RealmForOpenQA': {'embedder.': ('shared',), 'reader.': ('reader',)},
}
BERT_ROLES = {'': ('shared', 'reader')}  # A plain BERT starts both.
_LAYER = 'transformer/layer_{n}/'
_NUM_TYPES = 2  # Segments of a sequence: a query or title, and a body.
# (their name without suffix, our name without suffix), '{n}' the layer.
_ENCODER = (
  ('embeddings.word_embeddings', 'word_embeddings'),
  ('embeddings.position_embeddings', 'position_embedding'),
  ('embeddings.token_type_embeddings', 'type_embeddings'),
  ('embeddings.LayerNorm', 'embeddings/layer_norm'),
  ('encoder.layer.{n}.attention.self.query', _LAYER + 'self_attention/query'),
  ('encoder.layer.{n}.attention.self.key', _LAYER + 'self_attention/key'),
  ('encoder.layer.{n}.attention.self.value', _LAYER + 'self_attention/value'),
  (
    'encoder.layer.{n}.attention.output.dense',
    _LAYER + 'self_attention/attention_output',
  ),
  (
    'encoder.layer.{n}.attention.output.LayerNorm',
    _LAYER + 'self_attention_layer_norm',
  ),
  ('encoder.layer.{n}.intermediate.dense', _LAYER + 'intermediate'),
  ('encoder.layer.{n}.output.dense', _LAYER + 'output'),
  ('encoder.layer.{n}.output.LayerNorm', _LAYER + 'output_layer_norm'),
  ('pooler.dense', 'pooler_transform'),
)
_EMBEDDER_HEAD = (('cls.dense', 'projection'), ('cls.LayerNorm', 'layer_norm'))
_READER_HEADS = (
  ('cls.predictions.transform.dense', 'masked_lm/transform/dense'),
  ('cls.predictions.transform.LayerNorm', 'masked_lm/transform/LayerNorm'),
  ('cls.predictions', 'masked_lm/output_bias'),
  ('qa_outputs.dense_intermediate', 'span_reader/projection'),
  ('qa_outputs.layer_normalization', 'span_reader/layer_norm'),
  ('qa_outputs.dense_output', 'span_reader/score'),
)

# Their shapes, where a file might have others: V wordpieces, P positions, H
# hidden, I inner, D embedding, S span, Q both ends of it.
_SHAPES = {
  'embeddings.word_embeddings.weight': 'VH',
  'embeddings.position_embeddings.weight': 'PH',
  'encoder.layer.{n}.intermediate.dense.weight': 'IH',
  'encoder.layer.{n}.output.dense.weight': 'HI',
  'encoder.layer.{n}.attention.output.dense.weight': 'HH',
  **{
    f'encoder.layer.{{n}}.attention.self.{part}.weight': 'HH'
    for part in ('query', 'key', 'value')
  },
  'pooler.dense.weight': 'HH',
  'cls.dense.weight': 'DH',
  'cls.predictions.transform.dense.weight': 'HH',
  'cls.predictions.bias': 'V',
  'qa_outputs.dense_intermediate.weight': 'QH',
  'qa_outputs.dense_output.weight': '1S',
}
# Vectors, one for each matrix of dense layers and for each LayerNorm.
_SHAPES |= {
  name.replace('.weight', '.bias'): letters[0]
  for name, letters in _SHAPES.items()
  if 'dense' in name or '.self.' in name
}
_SHAPES |= {
  f'{theirs}.{suffix}': 'H'
  for theirs, _ in _ENCODER
  if theirs.endswith('LayerNorm')
  for suffix in ('weight', 'bias')
}


class Report(NamedTuple):
  """Use made of a file's tensors; each field is a sorted list of names.

  Attributes:
    used: Their names of the tensors that were taken.
    missing: Our names of the encoder's variables that got no value.
    left_over: Their names of the tensors that were not taken.
  """

  used: list[str]
  missing: list[str]
  left_over: list[str]


def convert(
  theirs: Mapping[str, np.ndarray],
  config: config_lib.BertConfig,
  roles: Mapping[str, tuple[str, ...]],
  originals: Optional[Mapping[str, str]] = None,
) -> tuple[dict[str, np.ndarray], Report]:
  """Returns arrays by our names, and the report.

  Args:
    theirs: Tensors by Hugging Face's names; only those that are used are read.
    config: Sizes of the encoder.
    roles: Which towers a name's prefix fills.
    originals: `modern` name -> name in `theirs`; by default of all names.
  """
  ours, used, missing = {}, set(), []
  originals = originals or {modern(name): name for name in theirs}
  for prefix, towers in roles.items():
    for tower in towers:
      for their_name, our_name in _names(tower, config.num_layers):
        their_name = prefix + their_name
        if their_name in originals:
          original = originals[their_name]
          used.add(original)
          ours[our_name] = _reshaped(
            theirs[original], original, our_name, config
          )
        elif f'{tower}_bert/' in our_name:
          missing.append(our_name)
  left_over = set(theirs) - used
  return ours, Report(sorted(used), sorted(missing), sorted(left_over))


def check_sizes(
  shapes: Mapping[str, tuple[int, ...]],
  model: config_lib.ModelConfig,
  roles: Mapping[str, tuple[str, ...]],
  source: str,
) -> None:
  """Compares the sizes of a config with a file's, before either is built.

  Args:
    shapes: Shapes by `modern` names.
    model: Config, both of whose encoders have these sizes.
    roles: See `convert`.
    source: config.json, for the error.

  Raises:
    UserError: A shape is another one.
  """
  bert = model.reader_bert
  layers = [re.findall(r'encoder\.layer\.(\d+)\.', name) for name in shapes]
  found = 1 + max((int(n) for ns in layers for n in ns[:1]), default=-1)
  if bert.num_layers > found:
    raise _other_size(source, f'{found} layers', bert.num_layers)
  sizes = {
    'V': bert.vocab_size,
    'P': bert.max_positions,
    'H': bert.hidden_size,
    'I': bert.intermediate_size,
    'D': model.embedder.embedding_size,
    'S': model.span_hidden_size,
    'Q': 2 * model.span_hidden_size,
    '1': 1,
  }
  for prefix in roles:
    for pattern, letters in _SHAPES.items():
      expected = tuple(sizes[letter] for letter in letters)
      for n in range(bert.num_layers if '{n}' in pattern else 1):
        name = prefix + pattern.format(n=n)
        if shapes.get(name, expected) != expected:
          raise _other_size(source, f'{name} of shape {shapes[name]}', expected)
    name = f'{prefix}embeddings.token_type_embeddings.weight'
    needed = _NUM_TYPES, bert.hidden_size
    types, *width = shapes.get(name, needed) or (0,)
    if types < _NUM_TYPES or width != [bert.hidden_size]:
      raise _other_size(
        source, f'{name} of shape {shapes[name]}', f'{needed}, as blocks have'
      )


def _other_size(source, found, needed):
  return errors.UserError(
    f'{source} must have the sizes of the weights. Found {found}, where it '
    f'needs {needed}. Choose another model, or copy both again.'
  )


def invert(
  ours: Mapping[str, np.ndarray], config: config_lib.BertConfig, tower: str
) -> dict[str, np.ndarray]:
  """Returns the encoder of a tower as BertModel's weights are named.

  Returns:
    Arrays by Hugging Face's names, float32; kernels are [out, in].
  """
  return {
    their_name: _flattened(ours[our_name], our_name, config)
    for their_name, our_name in _names(tower, config.num_layers)
    if our_name.startswith(f'{tower}_bert/') and our_name in ours
  }


def _names(tower, num_layers):
  """Yields (their name, our name) of all that a tower can hold."""
  for theirs, ours in _ENCODER:
    for n in range(num_layers if '{n}' in theirs else 1):
      for suffix, our_suffix in _suffixes(theirs):
        yield (
          f'{theirs.format(n=n)}.{suffix}',
          f'{tower}_bert/{ours.format(n=n)}/{our_suffix}',
        )
  heads = (
    _READER_HEADS
    if tower == 'reader'
    else [
      (theirs, f'{tower}_embedder/{ours}') for theirs, ours in _EMBEDDER_HEAD
    ]
  )
  for theirs, ours in heads:
    for suffix, our_suffix in _suffixes(theirs):
      yield f'{theirs}.{suffix}', f'{ours}/{our_suffix}'


def _suffixes(theirs):
  if theirs == 'cls.predictions':
    return (('bias', 'bias'),)
  if theirs.endswith('_embeddings'):
    return (('weight', 'embeddings'),)
  if theirs.lower().endswith(('layernorm', 'layer_normalization')):
    return (('weight', 'gamma'), ('bias', 'beta'))
  return (('weight', 'kernel'), ('bias', 'bias'))


def modern(name: str) -> str:
  """Returns the name without 'bert.' or 'realm.', in today's spelling."""
  name = re.sub(
    r'^((?:query_embedder|embedder|reader)\.)?(bert|realm)\.',
    lambda match: match.group(1) or '',
    name,
  )
  name = re.sub(r'\.gamma$', '.weight', name)
  return re.sub(r'\.beta$', '.bias', name)


def _reshaped(value, original, our_name, config):
  try:
    return _reshape(value, original, our_name, config)
  except ValueError as error:
    raise errors.UserError(
      f'Weights must fit their config. Found {original} of shape '
      f'{np.shape(value)} for {config.num_heads} heads of width '
      f'{config.hidden_size // config.num_heads}. Check --source.'
    ) from error


def _reshape(
  value: np.ndarray, original: str, our_name: str, config: config_lib.BertConfig
) -> np.ndarray:
  """Brings a tensor to our variable's shape."""
  value = np.asarray(value, np.float32)
  if not np.isfinite(value).all():
    raise errors.UserError(
      f'Weights must be finite. Found NaN or infinity in {original}. Choose '
      'another model, or copy it again.'
    )
  if our_name.endswith('/type_embeddings/embeddings'):
    value = value[:_NUM_TYPES]  # There is no third segment.
  if our_name.endswith('/kernel'):
    value = value.T  # [in, out]
  heads = config.num_heads
  if re.search(r'/self_attention/(query|key|value)/', our_name):
    return value.reshape(*value.shape[:-1], heads, -1)
  if our_name.endswith('/attention_output/kernel'):
    return value.reshape(heads, -1, value.shape[-1])
  return np.ascontiguousarray(value)


def _flattened(
  value: np.ndarray, our_name: str, config: config_lib.BertConfig
) -> np.ndarray:
  """Undoes `_reshape`."""
  hidden = config.hidden_size
  if re.search(r'/self_attention/(query|key|value)/', our_name):
    value = value.reshape(*value.shape[:-2], hidden)
  elif our_name.endswith('/attention_output/kernel'):
    value = value.reshape(hidden, hidden)
  if our_name.endswith('/kernel'):
    value = value.T
  return np.ascontiguousarray(value, np.float32)
