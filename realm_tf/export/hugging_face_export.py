"""A model's encoder -> a Hugging Face directory, the inverse of the importer.

transformers opens the directory as a BertModel. BertModel has no place for the
heads of the release's embedder and of readers: they are omitted and listed. All
other embedders are complete for sentence-transformers.
"""

from collections.abc import Mapping, Sequence
import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.export import cards
from realm_tf.export import sentence_files
from realm_tf.importing import hugging_face_names
from realm_tf.index import model_files
from realm_tf.modeling import bert as bert_lib
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.text import tokenizer_files

_ACTIVATIONS = {'gelu_tanh': 'gelu_new', 'gelu': 'gelu', 'relu': 'relu'}
_HEADS = {
  'query': ('query_embedder/', 'shared_embedder/'),
  'block': ('block_embedder/', 'shared_embedder/'),
  'reader': ('masked_lm/', 'span_reader/'),
}


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
  sentence_files.write_json(
    os.path.join(output_dir, 'config.json'), _bert_config(bert, theirs)
  )
  tokenizer_files.write_hugging_face(
    output_dir, tokenizer.vocabulary, tokenizer.rules, bert.max_positions
  )
  left_out, card = _write_head(output_dir, config, tower, arrays, tokenizer)
  with tf.io.gfile.GFile(os.path.join(output_dir, 'README.md'), 'w') as file:
    file.write(card)
  return left_out


def _write_head(output_dir, config, tower, arrays, tokenizer):
  """Writes the head's modules; returns the omitted weights, and the card."""
  embedder = config.model.embedder
  if tower == 'reader' or not sentence_files.can_express(embedder):
    left_out = sorted(name for name in arrays if name.startswith(_HEADS[tower]))
    return left_out, cards.of_bert(tower, left_out)
  projection = {
    name.rpartition('/')[2]: value
    for name, value in arrays.items()
    if name.startswith(_HEADS[tower]) and '/projection/' in name
  }
  prompts = _prompts(embedder, tokenizer)
  sentence_files.write(
    output_dir, config.model, projection, _max_length(config, tower), prompts
  )
  return [], cards.of_sentences(tower, config, prompts)


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
