"""A model's encoder -> a Hugging Face directory, the inverse of the importer.

transformers opens the directory as a BertModel. BertModel has no place for the
heads of the release's embedder and of readers: they are omitted and listed. All
other embedders are complete for sentence-transformers.
"""

from collections.abc import Mapping, Sequence
import json
import os
from typing import Any, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.exchange import hugging_face_names
from realm_tf.index import model_files
from realm_tf.model import bert as bert_lib
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.text import tokenizer_files

_ACTIVATIONS = {'gelu_tanh': 'gelu_new', 'gelu': 'gelu', 'relu': 'relu'}
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
  model = config.model
  bert = model.reader_bert if tower == 'reader' else model.embedder_bert
  theirs = _encoder(arrays, bert, tower, layout.params_file(opened.params.path))
  tf.io.gfile.makedirs(output_dir)
  weights.write_arrays(
    theirs,
    os.path.join(output_dir, 'model.safetensors'),
    {'format': 'pt'},  # transformers requires it.
  )
  _write_json(
    os.path.join(output_dir, 'config.json'), _bert_config(bert, theirs)
  )
  tokenizer_files.write_hugging_face(
    output_dir, tokenizer.vocabulary, tokenizer.rules, bert.max_positions
  )
  embedder = model.embedder
  # The release's head has no counterpart among sentence-transformers' modules.
  if tower == 'reader' or embedder.head not in _POOLINGS:
    return sorted(name for name in arrays if name.startswith(_HEADS[tower]))
  projection = {
    name.rpartition('/')[2]: value
    for name, value in arrays.items()
    if name.startswith(_HEADS[tower]) and '/projection/' in name
  }
  prompts = _prompts(embedder, tokenizer)
  _write_head(
    output_dir, model, projection, _max_length(config, tower), prompts
  )
  return []


def _prompts(embedder, tokenizer) -> dict[str, str]:
  """Returns the prompts as texts, by sentence-transformers' names."""
  ids = {'query': embedder.query_prompt, 'document': embedder.block_prompt}
  return {
    name: _text([tokenizer.vocabulary[int(part)] for part in value.split()])
    for name, value in ids.items()
    if value
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


def _encoder(arrays, bert, tower, source):
  """Returns the weights of the tower, or of the shared tower."""
  for name in (tower, 'shared') if tower != 'reader' else (tower,):
    theirs = hugging_face_names.invert(arrays, bert, name)
    if theirs:
      return theirs
  raise errors.UserError(
    f'--model_dir must hold the encoder of --tower={tower}. Found none '
    f'in {source}. Choose another --tower.'
  )


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
  model: config_lib.ModelConfig,
  projection: Mapping[str, np.ndarray],
  max_length: int,
  prompts: Mapping[str, str],
) -> None:
  """Writes the modules after the encoder, and their settings.

  Args:
    directory: Directory of the encoder.
    projection: 'kernel' [in, out] and, if any, 'bias'; {} without projection.
    max_length: Wordpieces of the longest text.
    prompts: Prompts by sentence-transformers' names.
  """
  embedder = model.embedder
  modules = _Modules(directory)
  pooling = _pooling(embedder.head, model.embedder_bert.hidden_size)
  modules.add('Pooling', pooling)
  if projection:
    path = modules.add('Dense', _dense(embedder, projection))
    tensors = {'linear.weight': projection['kernel'].T}
    if 'bias' in projection:
      tensors['linear.bias'] = projection['bias']
    weights.write_arrays(
      tensors, os.path.join(path, 'model.safetensors'), {'format': 'pt'}
    )
  if embedder.normalize:
    modules.add('Normalize')
  _write_json(os.path.join(directory, 'modules.json'), modules.entries)
  _write_json(
    os.path.join(directory, 'sentence_bert_config.json'),
    {'max_seq_length': max_length, 'do_lower_case': False},
  )
  _write_json(
    os.path.join(directory, 'config_sentence_transformers.json'),
    {
      'prompts': dict(prompts),
      'default_prompt_name': None,
      'similarity_fn_name': 'cosine' if embedder.normalize else 'dot',
    },
  )


def _write_json(path: str, value: Any) -> None:
  """Writes a value as indented JSON."""
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(value, indent=2, ensure_ascii=False) + '\n')


class _Modules:
  """The list in modules.json; the encoder is the first entry."""

  def __init__(self, directory: str):
    self._directory = directory
    self.entries: list[dict[str, Any]] = []
    self._append('Transformer', '')

  def add(self, kind: str, config: Optional[dict[str, Any]] = None) -> str:
    """Makes the directory of the next module; returns its path."""
    name = f'{len(self.entries)}_{kind}'
    path = os.path.join(self._directory, name)
    tf.io.gfile.makedirs(path)
    if config is not None:
      _write_json(os.path.join(path, 'config.json'), config)
    self._append(kind, name)
    return path

  def _append(self, kind, path):
    number = len(self.entries)
    self.entries.append(
      {
        'idx': number,
        'name': str(number),
        'path': path,
        'type': f'sentence_transformers.models.{kind}',
      }
    )


def _pooling(head, hidden_size):
  switches = {f'pooling_mode_{m}': m == _POOLINGS[head] for m in _MODES}
  return {'word_embedding_dimension': hidden_size, **switches}


def _dense(embedder, projection):
  in_features, out_features = projection['kernel'].shape
  is_tanh = embedder.head != 'cls' and embedder.dense == 'tanh'
  return {
    'in_features': in_features,
    'out_features': out_features,
    'bias': 'bias' in projection,
    'activation_function': _TANH if is_tanh else _IDENTITY,
  }
