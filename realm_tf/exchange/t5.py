"""A Hugging Face T5 directory, v1.0 or v1.1 -> weights of a `Seq2Seq`.

Needs neither torch nor transformers.
"""

import os
import re
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import json_text
from realm_tf.exchange import hugging_face_files
from realm_tf.exchange import imported
from realm_tf.model import seq2seq
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.text import sentencepieces

_ACTIVATIONS = {'relu': 'relu', 'gated-gelu': 'gated_gelu'}
_FIELDS = {
  'model_type': json_text.one_of('t5'),
  'layer_norm_epsilon': json_text.optional(json_text.number(1e-6, 1e-6)),
  'feed_forward_proj': json_text.optional(json_text.one_of(*_ACTIVATIONS)),
  'tie_word_embeddings': json_text.optional(bool),
  'vocab_size': json_text.POSITIVE,
  'd_model': json_text.POSITIVE,
  'd_kv': json_text.POSITIVE,
  'd_ff': json_text.POSITIVE,
  'num_heads': json_text.POSITIVE,
  'num_layers': json_text.POSITIVE,
  'num_decoder_layers': json_text.optional(json_text.COUNT),
  'relative_attention_num_buckets': json_text.optional(
    json_text.count(1, 65_536)
  ),
  'relative_attention_max_distance': json_text.optional(json_text.POSITIVE),
}
_LAYER = r'(encoder|decoder)\.block\.(\d+)\.layer\.\d\.'
_BLOCK = r'\1/\1_block_\2/'
# Their names -> ours. Torch's matrices are our kernels, transposed.
_NAMES = (
  (r'shared\.weight', 'shared/embedding'),
  (r'lm_head\.weight', 'decoder/logits/kernel'),
  (
    r'(encoder|decoder)\.final_layer_norm\.weight',
    r'\1/final_layer_norm/scale',
  ),
  (
    r'(encoder|decoder)\.block\.0\.layer\.0\.SelfAttention\.'
    r'relative_attention_bias\.weight',
    r'\1/relative_posemb/rel_embedding/embedding',
  ),
  (
    _LAYER + r'SelfAttention\.([qkvo])\.weight',
    _BLOCK + r'self_attention/attention/\3/kernel',
  ),
  (
    _LAYER + r'EncDecAttention\.([qkvo])\.weight',
    _BLOCK + r'cross_attention/attention/\3/kernel',
  ),
  (
    _LAYER + r'DenseReluDense\.(wi|wi_0|wi_1|wo)\.weight',
    _BLOCK + r'ffn/\3/kernel',
  ),
  (
    r'(encoder|decoder)\.block\.(\d+)\.layer\.0\.layer_norm\.weight',
    _BLOCK + 'self_attention/layer_norm/scale',
  ),
  (
    r'(decoder)\.block\.(\d+)\.layer\.1\.layer_norm\.weight',
    _BLOCK + 'cross_attention/layer_norm/scale',
  ),
  (
    r'(encoder|decoder)\.block\.(\d+)\.layer\.[12]\.layer_norm\.weight',
    _BLOCK + 'ffn_layer_norm/scale',
  ),
)
(_PREFIX,) = seq2seq.PREFIXES
_SHARED, _LOGITS = 'shared.weight', 'lm_head.weight'
# Some files also have copies of the embeddings.
_COPIES = 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'


def is_t5(directory: str) -> bool:
  """Returns whether config.json names a T5."""
  values = hugging_face_files.read_json(directory, 'config.json', {})
  return values.get('model_type') == 't5'


def load(
  directory: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Returns a directory's T5; UserError without fitting SentencePiece model."""
  path = given.vocab_file or layout.sentencepiece_file(directory)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'A T5 must come with its SentencePiece model. Found no {path}. Give it '
      'as --vocab_file.'
    )
  config, arrays = read(directory)
  num_pieces = sentencepieces.SentencepieceTokenizer.from_file(path).vocab_size
  if num_pieces > config.vocab_size:
    raise errors.UserError(
      f'A T5 must have an embedding for each piece. Found {num_pieces} pieces '
      f'in {path} and {config.vocab_size} embeddings. Give the right '
      '--vocab_file.'
    )
  return imported.Imported(
    config_lib.ModelConfig(seq2seq=config),
    arrays,
    weights.LoadReport(sorted(arrays), [], []),
    vocab_file=path,
  )


def read(
  directory: str,
) -> tuple[config_lib.Seq2SeqConfig, dict[str, np.ndarray]]:
  """Returns config and weights; UserError for a damaged or other config."""
  values = hugging_face_files.read_json(
    directory, 'config.json', _FIELDS, required=True
  )
  config = _config(values, os.path.join(directory, 'config.json'))
  tensors = hugging_face_files.Tensors(directory)
  arrays = {}
  for name in tensors:
    ours = next(
      (
        re.sub(theirs, ours, name)
        for theirs, ours in _NAMES
        if re.fullmatch(theirs, name)
      ),
      None,
    )
    if ours:
      value = tensors[name].T if ours.endswith('/kernel') else tensors[name]
      arrays[_PREFIX + ours] = value
    elif name not in _COPIES:  # Refused, as a missing one, with its name.
      arrays[_PREFIX + name] = tensors[name]
  if _SHARED not in tensors and _LOGITS in tensors:  # Tied and stored once.
    arrays[_PREFIX + 'shared/embedding'] = tensors[_LOGITS]
  if config.tied_logits:
    arrays.pop(_PREFIX + 'decoder/logits/kernel', None)
  return config, arrays


def _config(values: dict[str, Any], path: str) -> config_lib.Seq2SeqConfig:
  num_layers = values['num_layers']
  try:
    return config_lib.Seq2SeqConfig(
      vocab_size=values['vocab_size'],
      hidden_size=values['d_model'],
      head_size=values['d_kv'],
      num_layers=num_layers,
      num_decoder_layers=values.get('num_decoder_layers') or num_layers,
      num_heads=values['num_heads'],
      intermediate_size=values['d_ff'],
      activation=_ACTIVATIONS[values.get('feed_forward_proj', 'relu')],
      tied_logits=values.get('tie_word_embeddings', True),
      num_buckets=values.get('relative_attention_num_buckets', 32),
      max_distance=values.get('relative_attention_max_distance', 128),
    )
  except ValueError as error:  # A check of Seq2SeqConfig failed.
    raise hugging_face_files.wrong(
      path, 'be the config of a T5', error
    ) from error
