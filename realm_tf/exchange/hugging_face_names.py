"""Translates names and shapes of weights between Hugging Face and realm_tf.

Kernels of nn.Linear are [out, in]; ours are [in, out], with an axis for the
attention heads.
"""

from collections.abc import Iterable, Iterator, Mapping
import re

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.model import weights

# Architecture -> prefix of Hugging Face's names -> our towers.
ROLES = {
  'RealmEmbedder': {'': ('shared',)},
  'RealmScorer': {'query_embedder.': ('query',), 'embedder.': ('block',)},
  'RealmKnowledgeAugEncoder': {'': ('reader',)},
  'RealmReader': {'': ('reader',)},
  'RealmForOpenQA': {'embedder.': ('shared',), 'reader.': ('reader',)},
}
BERT_ROLES = {'': ('shared', 'reader')}  # Both start from a plain BERT.
LINEAR_HEAD = 'span_reader/linear'  # Of readers trained on SQuAD.
_Pair = tuple[str, str]  # Their name, our name.
_NUM_TYPES = 2  # Segments of a sequence: a query or title, and a body.


def _dense(theirs: str, ours: str) -> tuple[_Pair, _Pair]:
  return (
    (f'{theirs}.weight', f'{ours}/kernel'),
    (f'{theirs}.bias', f'{ours}/bias'),
  )


def _norm(theirs: str, ours: str) -> tuple[_Pair, _Pair]:
  return (
    (f'{theirs}.weight', f'{ours}/gamma'),
    (f'{theirs}.bias', f'{ours}/beta'),
  )


def _table(theirs: str, ours: str) -> _Pair:
  return f'embeddings.{theirs}_embeddings.weight', f'{ours}/embeddings'


# (their name, our name) of each weight; '{n}' is the number of a layer.
_THEIR_LAYER, _LAYER = 'encoder.layer.{n}.', 'transformer/layer_{n}/'
_THEIRS, _OURS = _THEIR_LAYER + 'attention.', _LAYER + 'self_attention'
_ENCODER = (
  _table('word', 'word_embeddings'),
  _table('position', 'position_embedding'),
  _table('token_type', 'type_embeddings'),
  *_norm('embeddings.LayerNorm', 'embeddings/layer_norm'),
  *_dense(_THEIRS + 'self.query', _OURS + '/query'),
  *_dense(_THEIRS + 'self.key', _OURS + '/key'),
  *_dense(_THEIRS + 'self.value', _OURS + '/value'),
  *_dense(_THEIRS + 'output.dense', _OURS + '/attention_output'),
  *_norm(_THEIRS + 'output.LayerNorm', _OURS + '_layer_norm'),
  *_dense(_THEIR_LAYER + 'intermediate.dense', _LAYER + 'intermediate'),
  *_dense(_THEIR_LAYER + 'output.dense', _LAYER + 'output'),
  *_norm(_THEIR_LAYER + 'output.LayerNorm', _LAYER + 'output_layer_norm'),
  *_dense('pooler.dense', 'pooler_transform'),
)
_EMBEDDER_HEAD = (
  *_dense('cls.dense', 'projection'),
  *_norm('cls.LayerNorm', 'layer_norm'),
)
_LM, _QA = 'cls.predictions', 'qa_outputs'
_READER_HEADS = (
  *_dense(f'{_LM}.transform.dense', 'masked_lm/transform/dense'),
  *_norm(f'{_LM}.transform.LayerNorm', 'masked_lm/transform/LayerNorm'),
  (f'{_LM}.bias', 'masked_lm/output_bias/bias'),
  *_dense(f'{_QA}.dense_intermediate', 'span_reader/projection'),
  *_norm(f'{_QA}.layer_normalization', 'span_reader/layer_norm'),
  *_dense(f'{_QA}.dense_output', 'span_reader/score'),
  *_dense(_QA, LINEAR_HEAD),
)
# DistilBERT's name -> BERT's.
_DISTILBERT = {
  r'^transformer\.layer\.': 'encoder.layer.',
  r'\.attention\.q_lin\.': '.attention.self.query.',
  r'\.attention\.k_lin\.': '.attention.self.key.',
  r'\.attention\.v_lin\.': '.attention.self.value.',
  r'\.attention\.out_lin\.': '.attention.output.dense.',
  r'\.sa_layer_norm\.': '.attention.output.LayerNorm.',
  r'\.ffn\.lin1\.': '.intermediate.dense.',
  r'\.ffn\.lin2\.': '.output.dense.',
  r'\.output_layer_norm\.': '.output.LayerNorm.',
}


def convert(
  theirs: Mapping[str, np.ndarray],
  config: config_lib.BertConfig,
  roles: Mapping[str, tuple[str, ...]],
  originals: Mapping[str, str] | None = None,
) -> tuple[dict[str, np.ndarray], weights.LoadReport]:
  """Returns arrays by our names, and the report.

  The report has their names of used and of left over tensors, and our names of
  missing variables, in encoders and in heads that are not missing as a whole.

  Args:
    theirs: Tensors by Hugging Face's names; unused tensors are not read.
    roles: Prefix of names -> towers.
    originals: `modern` name -> name in `theirs`; by default for all names.
  """
  ours, used, absent = {}, set(), []
  originals = originals or {modern(name): name for name in theirs}
  for prefix, towers in roles.items():
    for tower in towers:
      for name, our_name in _names(tower, config.num_layers):
        original = originals.get(prefix + name)
        if original is None:
          absent.append(our_name)
        else:
          used.add(original)
          ours[our_name] = _reshape(
            theirs[original], original, our_name, config
          )
  # A missing head is no fault; an incomplete head is.
  head = re.compile(f'{LINEAR_HEAD}|[^/]+')
  heads = {head.findall(name)[0] for name in ours}
  missing = [
    name
    for name in absent
    if head.findall(name)[0] in heads or '_bert/' in name
  ]
  return ours, weights.LoadReport(
    sorted(used), sorted(missing), sorted(set(theirs) - used)
  )


def check_whole(report: weights.LoadReport, source: str) -> None:
  """Raises UserError if an encoder or a head is incomplete."""
  # Many files lack the pooler; training starts it from random weights.
  lacking = [n for n in report.missing if '/pooler_transform/' not in n]
  if lacking:
    raise errors.UserError(
      f'{source} must hold a whole BERT encoder, and whole heads. It lacks '
      f'{len(lacking)} values, {lacking[0]} first. Check --source.'
    )


def invert(
  ours: Mapping[str, np.ndarray], config: config_lib.BertConfig, tower: str
) -> dict[str, np.ndarray]:
  """Returns a tower's encoder by the names and shapes of BertModel, float32."""
  return {
    theirs: _flattened(ours[name], name, config)
    for theirs, name in _names(tower, config.num_layers)
    if name.startswith(f'{tower}_bert/') and name in ours
  }


def _names(tower: str, num_layers: int) -> Iterator[tuple[str, str]]:
  """Yields (their name, our name) of all weights that a tower can hold."""
  for theirs, ours in _ENCODER:
    for n in range(num_layers if '{n}' in theirs else 1):
      yield theirs.format(n=n), f'{tower}_bert/{ours.format(n=n)}'
  if tower == 'reader':
    yield from _READER_HEADS
  else:
    for theirs, ours in _EMBEDDER_HEAD:
      yield theirs, f'{tower}_embedder/{ours}'


def num_layers(names: Iterable[str]) -> int:
  """Returns the number of layers in weights of these names."""
  found = re.findall(r'encoder\.layer\.(\d+)\.', ' '.join(names))
  return 1 + max(map(int, found), default=-1)


def modern(name: str) -> str:
  """Returns BERT's name, in the current spelling, without the model's name."""
  name = re.sub(
    r'^((?:query_embedder|embedder|reader)\.)?(bert|realm|electra|distilbert)\.',
    lambda match: match.group(1) or '',
    name,
  )
  if name.startswith('transformer.layer.'):
    for theirs, ours in _DISTILBERT.items():
      name = re.sub(theirs, ours, name)
  name = re.sub(r'\.gamma$', '.weight', name)
  return re.sub(r'\.beta$', '.bias', name)


def _reshape(
  value: np.ndarray, original: str, our_name: str, config: config_lib.BertConfig
) -> np.ndarray:
  """Brings a tensor to our variable's shape, or raises UserError."""
  value = np.asarray(value, np.float32)
  if not np.isfinite(value).all():
    raise errors.UserError(
      f'Weights must be finite. Found NaN or infinity in {original}. Choose '
      'another model, or copy it again.'
    )
  if our_name.endswith('/type_embeddings/embeddings'):
    value = value[:_NUM_TYPES]
  if our_name.endswith('/kernel'):
    value = value.T  # [in, out]
  shape, heads = value.shape, config.num_heads
  if re.search(r'/self_attention/(query|key|value)/', our_name):
    shape = *shape[:-1], heads, -1
  elif our_name.endswith('/attention_output/kernel'):
    shape = heads, -1, shape[-1]
  else:
    value = np.ascontiguousarray(value)
  try:
    return value.reshape(shape)
  except ValueError as error:
    raise errors.UserError(
      f'Weights must fit their config. Found {original} of shape {value.shape} '
      f'for {heads} heads of width {config.hidden_size // heads}. Check '
      '--source.'
    ) from error


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
