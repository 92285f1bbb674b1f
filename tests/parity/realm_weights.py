"""A small random REALM under Hugging Face's names, and inputs, in NumPy alone.

`tests/parity/peer_realm.py` fills transformers' classes with it, so tests
need the outputs of transformers, but not its weights.
"""

import numpy as np

from tests.exchange import small_bert

VOCABULARY = (
  '[PAD] [UNK] [CLS] [SEP] [MASK] the a river lake city port of in on by north'
  ' south sea bridge old new tower ##s ##er is what where ? . ,'
).split()
BLOCKS = (
  'The older bridge is by the South Lake.',
  'A port is on the North Sea, by the old towers.',
  'Where is a tower? The city is old.',
  'The river is in the north of the city, by a bridge. The bridge is newer.',
  'The North Sea.',
  'Towers of the city, old and new: a port in the south.',
  'In the north sea is the tower of the North Sea.',
  'A new lake.',
)
QUESTION = 'Where is the older port?'
ANSWERS = ('North Sea', 'tower')
# Masked tokens of the two queries, [B, M], and whether they are no padding.
MASKED_POSITIONS = np.array([[1, 3], [2, 0]], np.int32)
MASKED_TOKENS = np.array([[7, 11], [20, 0]], np.int32)
IS_MASKED = np.array([[1, 1], [1, 0]], np.float32)
CONFIG = {
  'model_type': 'realm',
  'hidden_act': 'gelu_new',
  'hidden_size': 8,
  'num_hidden_layers': 2,
  'num_attention_heads': 2,
  'intermediate_size': 12,
  'vocab_size': len(VOCABULARY),
  'max_position_embeddings': 24,
  'retriever_proj_size': 6,
  'span_hidden_size': 5,
  'max_span_width': 3,
  'reader_beam_size': 2,
  'reader_seq_len': 24,
  'searcher_beam_size': 4,
  'num_candidates': 3,
  'num_block_records': len(BLOCKS),
  'hidden_dropout_prob': 0.0,
  'attention_probs_dropout_prob': 0.0,
  'layer_norm_eps': 1e-12,
  'reader_layer_norm_eps': 1e-3,
  'pad_token_id': 0,
}
_HIDDEN, _SPAN, _WIDTH = 8, 5, 6
_linear, _norm = small_bert.linear, small_bert.norm


def embedder(seed: int) -> dict[str, np.ndarray]:
  """Returns RealmEmbedder's weights, by name."""
  rng = np.random.default_rng(seed)
  return {
    **_bert(rng),
    **_filled(rng, _linear('cls.dense', _HIDDEN, _WIDTH)),
    **_filled(rng, _norm('cls.LayerNorm', _WIDTH)),
  }


def knowledge_encoder(seed: int) -> dict[str, np.ndarray]:
  """Returns RealmKnowledgeAugEncoder's weights, by name."""
  rng = np.random.default_rng(seed)
  head = 'cls.predictions'
  return {
    **_bert(rng),
    **_filled(rng, _linear(f'{head}.transform.dense', _HIDDEN, _HIDDEN)),
    **_filled(rng, _norm(f'{head}.transform.LayerNorm', _HIDDEN)),
    f'{head}.bias': _normal(rng, CONFIG['vocab_size']),
  }


def scorer(seed: int) -> dict[str, np.ndarray]:
  """Returns the weights of RealmScorer with two towers, by name."""
  return {
    **_below('query_embedder.', embedder(seed)),
    **_below('embedder.', embedder(seed + 1)),
  }


def open_qa(seed: int) -> dict[str, np.ndarray]:
  """Returns RealmForOpenQA's weights and block embeddings, by name."""
  rng = np.random.default_rng(seed)
  return {
    **_below('embedder.', embedder(seed + 1)),
    **_below('reader.', _reader(seed + 2)),
    'block_emb': _normal(rng, len(BLOCKS), _WIDTH),
  }


def tokens(seed: int, *shape: int) -> dict[str, np.ndarray]:
  """Returns [CLS] a [SEP] b [SEP] and padding, int32 [..., L], HF's names."""
  rng = np.random.default_rng(seed)
  length = shape[-1]
  ids = rng.integers(5, CONFIG['vocab_size'], shape, np.int32)
  flat = ids.reshape(-1, length)
  types, mask = np.zeros_like(flat), np.zeros_like(flat)
  for i, row in enumerate(flat):
    first, end = length // 3, length - 1 - i % 3
    row[0], row[first], row[end] = 2, 3, 3
    row[end + 1 :] = 0
    types[i, first + 1 : end + 1] = 1
    mask[i, : end + 1] = 1
  return {
    'input_ids': ids,
    'attention_mask': mask.reshape(shape),
    'token_type_ids': types.reshape(shape),
  }


def _reader(seed):
  rng = np.random.default_rng(seed)
  return {
    **_bert(rng),
    **_filled(
      rng, _linear('qa_outputs.dense_intermediate', _HIDDEN, 2 * _SPAN)
    ),
    **_filled(rng, _norm('qa_outputs.layer_normalization', _SPAN)),
    **_filled(rng, _linear('qa_outputs.dense_output', _SPAN, 1)),
  }


def _below(prefix, weights):
  return {prefix + name: value for name, value in weights.items()}


def _bert(rng):
  weights = small_bert.random_weights(CONFIG, rng)
  return {f'realm.{name}': _tamed(name, v) for name, v in weights.items()}


def _tamed(name, value):
  """Returns the value so that [CLS] depends on all wordpieces.

  Large biases would make embeddings of all texts nearly the same, and their
  gradients the rounded differences of nearly equal terms.
  """
  if name.endswith('.bias'):
    return value / 4
  return 1 + value / 4 if name.endswith('LayerNorm.weight') else value / 1.5


def _filled(rng, shapes):
  return {name: _normal(rng, *shape) for name, shape in shapes.items()}


def _normal(rng, *shape):
  return rng.normal(size=shape).astype(np.float32) / 2
