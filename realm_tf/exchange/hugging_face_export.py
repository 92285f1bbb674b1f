"""A model's encoder -> a Hugging Face directory, the inverse of the importer.

transformers opens the directory as a BertModel, which has no place for heads of
the release's embedder and reader: they are omitted and listed. Other embedders
are complete for sentence-transformers, and a reader with a linear head is a
BertForQuestionAnswering.
"""

from collections.abc import Mapping, Sequence
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import json_text
from realm_tf.exchange import hugging_face_names
from realm_tf.index import model_files
from realm_tf.model import bert as bert_lib
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.text import tokenizer_files

_ACTIVATIONS = {'gelu_tanh': 'gelu_new', 'gelu': 'gelu', 'relu': 'relu'}
_LINEAR = hugging_face_names.LINEAR_HEAD
_HEADS = {
  'query': ('query_embedder/', 'shared_embedder/'),
  'block': ('block_embedder/', 'shared_embedder/'),
  'reader': ('masked_lm/', 'span_reader/'),
}

# Our head -> pooling of sentence-transformers.
_POOLINGS = {
  'cls': 'cls_token',
  'first': 'cls_token',
  'mean': 'mean_tokens',
  'max': 'max_tokens',
}
_MODES = ('cls_token', 'mean_tokens', 'max_tokens', 'mean_sqrt_len_tokens')
_IDENTITY = 'torch.nn.modules.linear.Identity'
_TANH = 'torch.nn.modules.activation.Tanh'


def export(model_dir: str, tower: str, output_dir: str) -> list[str]:
  """Writes one of `names.TOWERS`; returns the names of omitted weights."""
  opened = model_files.open_model(model_dir)
  config, tokenizer = opened.config, opened.tokenizer
  arrays = opened.read_params()
  model, embedder = config.model, config.model.embedder
  bert = model.reader_bert if tower == 'reader' else model.embedder_bert
  towers = (tower,) if tower == 'reader' else (tower, 'shared')
  theirs = next(
    filter(None, (hugging_face_names.invert(arrays, bert, t) for t in towers)),
    None,
  )
  if not theirs:
    raise errors.UserError(
      f'--model_dir must hold the encoder of --tower={tower}. Found none in '
      f'{layout.params_file(opened.params.path)}. Choose another --tower.'
    )
  values = _bert_config(bert, theirs)
  has_qa = tower == 'reader' and f'{_LINEAR}/kernel' in arrays
  if has_qa:
    values['architectures'] = ['BertForQuestionAnswering']
    theirs = _with_qa(theirs, arrays)
  _write_module(output_dir, values, theirs)
  tokenizer_files.write_hugging_face(
    output_dir, tokenizer.vocabulary, tokenizer.rules, bert.max_positions
  )
  head = {n: v for n, v in arrays.items() if n.startswith(_HEADS[tower])}
  # The release's head has no counterpart among sentence-transformers' modules.
  if tower == 'reader' or embedder.head not in _POOLINGS:
    return sorted(name for name in head if not (has_qa and _LINEAR in name))
  _write_head(output_dir, embedder, bert.hidden_size, head)
  json_text.write(
    os.path.join(output_dir, 'sentence_bert_config.json'),
    {'max_seq_length': _max_length(config, tower), 'do_lower_case': False},
  )
  prompts = {'query': embedder.query_prompt, 'document': embedder.block_prompt}
  json_text.write(
    os.path.join(output_dir, 'config_sentence_transformers.json'),
    {
      'prompts': {
        name: _text([tokenizer.vocabulary[int(part)] for part in ids.split()])
        for name, ids in prompts.items()
        if ids
      },
      'default_prompt_name': None,
      'similarity_fn_name': 'cosine' if embedder.normalize else 'dot',
    },
  )
  return []


def _with_qa(
  encoder: Mapping[str, np.ndarray], arrays: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
  """Returns the weights of a BertForQuestionAnswering."""
  return {
    **{f'bert.{name}': array for name, array in encoder.items()},
    'qa_outputs.weight': arrays[f'{_LINEAR}/kernel'].T,
    'qa_outputs.bias': arrays[f'{_LINEAR}/bias'],
  }


def _text(pieces: Sequence[str]) -> str:
  """Joins wordpieces to a text with a space at the end."""
  words = (piece if piece.startswith('##') else f' {piece}' for piece in pieces)
  return ''.join(word.removeprefix('##') for word in words).lstrip(' ') + ' '


def _max_length(config: config_lib.ExperimentConfig, tower: str) -> int:
  """Returns the length of the tower's longest text, including the prompt."""
  lengths, embedder = config.lengths, config.model.embedder
  longest = {
    'query': lengths.query_tokens + len(embedder.query_prompt.split()),
    'block': lengths.block_tokens + len(embedder.block_prompt.split()),
  }
  length = max(longest.values()) if embedder.shared_towers else longest[tower]
  return min(length, config.model.embedder_bert.max_positions)


def _bert_config(
  bert: config_lib.BertConfig, theirs: Mapping[str, np.ndarray]
) -> dict[str, Any]:
  """Returns the config.json of a BertModel."""
  return {
    'architectures': ['BertModel'],
    'model_type': 'bert',
    'vocab_size': len(theirs['embeddings.word_embeddings.weight']),
    'hidden_size': bert.hidden_size,
    'num_hidden_layers': bert.num_layers,
    'num_attention_heads': bert.num_heads,
    'intermediate_size': bert.intermediate_size,
    'max_position_embeddings': bert.max_positions,
    'type_vocab_size': 2,
    'hidden_act': _ACTIVATIONS[bert.activation],
    'hidden_dropout_prob': bert.dropout_rate,
    'attention_probs_dropout_prob': bert.attention_dropout_rate,
    'initializer_range': bert.initializer_range,
    'layer_norm_eps': bert_lib.LAYER_NORM_EPSILON,
    'pad_token_id': 0,
    'torch_dtype': 'float32',
  }


def _write_head(
  directory: str,
  embedder: config_lib.EmbedderConfig,
  hidden_size: int,
  head: Mapping[str, np.ndarray],
) -> None:
  """Writes the modules after the encoder, and modules.json, their list."""
  pooling: dict[str, Any] = {'word_embedding_dimension': hidden_size}
  for mode in _MODES:
    pooling[f'pooling_mode_{mode}'] = mode == _POOLINGS[embedder.head]
  kinds = ['Transformer', 'Pooling']
  _write_module(os.path.join(directory, '1_Pooling'), pooling)
  projection = {
    name.rpartition('/')[2]: value
    for name, value in head.items()
    if '/projection/' in name
  }
  if projection:
    kinds.append('Dense')
    in_features, out_features = projection['kernel'].shape
    is_tanh = embedder.head != 'cls' and embedder.dense == 'tanh'
    dense = {
      'in_features': in_features,
      'out_features': out_features,
      'bias': 'bias' in projection,
      'activation_function': _TANH if is_tanh else _IDENTITY,
    }
    tensors = {'linear.weight': projection['kernel'].T}
    if 'bias' in projection:
      tensors['linear.bias'] = projection['bias']
    _write_module(os.path.join(directory, '2_Dense'), dense, tensors)
  if embedder.normalize:
    kinds.append('Normalize')
    name = f'{len(kinds) - 1}_Normalize'
    tf.io.gfile.makedirs(os.path.join(directory, name))
  modules = [
    {
      'idx': number,
      'name': str(number),
      'path': f'{number}_{kind}' if number else '',
      'type': f'sentence_transformers.models.{kind}',
    }
    for number, kind in enumerate(kinds)
  ]
  json_text.write(os.path.join(directory, 'modules.json'), modules)


def _write_module(
  directory: str,
  config: Mapping[str, Any],
  tensors: Mapping[str, np.ndarray] | None = None,
) -> None:
  """Writes config.json and, if any, model.safetensors into a directory."""
  tf.io.gfile.makedirs(directory)
  json_text.write(os.path.join(directory, 'config.json'), config)
  if tensors:
    path = os.path.join(directory, 'model.safetensors')
    weights.write(tensors, path, {'format': 'pt'})  # transformers' wish.
