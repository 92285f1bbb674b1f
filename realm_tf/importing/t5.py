"""A Hugging Face T5 directory -> a `Seq2Seq` with its weights.

  config.json, model.safetensors, spiece.model -> [this file] -> encoder-decoder

Reads v1.0 and v1.1 without torch or transformers.
"""

import os
from typing import Any

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import json_files
from realm_tf.importing import safetensors_files
from realm_tf.modeling import seq2seq
from realm_tf.modeling import weights
from realm_tf.rundir import json_shapes
from realm_tf.rundir import layout
from realm_tf.text import sentencepieces

_ACTIVATIONS = {'relu': 'relu', 'gated-gelu': 'gated_gelu'}
_FIELDS = {
  'model_type': json_shapes.one_of('t5'),
  'layer_norm_epsilon': json_shapes.optional(json_shapes.one_of(1e-6)),
  'feed_forward_proj': json_shapes.optional(json_shapes.one_of(*_ACTIVATIONS)),
  'tie_word_embeddings': json_shapes.optional(json_shapes.SWITCH),
  'vocab_size': json_files.SIZE,
  'd_model': json_files.SIZE,
  'd_kv': json_files.SIZE,
  'd_ff': json_files.SIZE,
  'num_heads': json_files.SIZE,
  'num_layers': json_files.SIZE,
  'num_decoder_layers': json_shapes.optional(json_shapes.COUNT),
  'relative_attention_num_buckets': json_shapes.optional(
    json_shapes.count(1, 65_536)
  ),
  'relative_attention_max_distance': json_shapes.optional(json_files.SIZE),
}
_LOGITS = 'lm_head.weight'
# Copies of the embeddings that some files also have.
_COPIES = 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'


def is_t5(directory: str) -> bool:
  """Returns whether a Hugging Face directory says that it holds a T5."""
  values = json_files.read(directory, 'config.json', {}) or {}
  return values.get('model_type') == 't5'


def load_imported(
  directory: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Returns a directory's T5 with its SentencePiece model.

  Raises:
    UserError: `load` finds a mistake; or there is no SentencePiece model, or
      one with more pieces than embeddings.
  """
  path = given.vocab_file or layout.sentencepiece_file(directory)
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'A T5 must come with its SentencePiece model. Found no {path}. Give it '
      'as --vocab_file.'
    )
  model = load(directory)
  num_pieces = sentencepieces.SentencepieceTokenizer.from_file(path).vocab_size
  if num_pieces > model.config.vocab_size:
    raise errors.UserError(
      f'A T5 must have an embedding for each piece. Found {num_pieces} pieces '
      f'in {path} and {model.config.vocab_size} embeddings. Give the right '
      '--vocab_file.'
    )
  names = sorted(each.name for each in model.named())
  return imported.Imported(
    config_lib.ModelConfig(seq2seq=model.config),
    weights.values(model.trainable_variables),
    hugging_face_names.Report(names, [], []),
    vocab_file=path,
  )


def load(directory: str) -> seq2seq.Seq2Seq:
  """Returns the model of a directory.

  Raises:
    UserError: A file is missing or damaged, or it is another kind of model.
  """
  values = json_files.require(directory, 'config.json', _FIELDS)
  path = os.path.join(directory, 'config.json')
  config = _config(values, path)
  tensors = safetensors_files.Tensors(directory)
  needed = _num_values(config)
  if needed > tensors.num_values:
    raise json_files.wrong(
      path,
      'have the sizes of the weights',
      f'sizes of {needed} numbers at least, and weights of '
      f'{tensors.num_values}',
    )
  model = seq2seq.Seq2Seq(config)
  names = set(tensors) - set(_COPIES)
  for name, variable, is_transposed in model.named():
    if name not in names and name == 'shared.weight' and _LOGITS in names:
      name = _LOGITS  # Stored once if tied.
    shape = tuple(variable.shape)
    tensors.require({name: shape[::-1] if is_transposed else shape})
    variable.assign(tensors[name].T if is_transposed else tensors[name])
    names.discard(name)
  names.discard(_LOGITS)
  if names:
    raise errors.UserError(
      f'{directory} must have the weights of a T5 alone. Found also '
      f'{min(names)}. Check --source=hf:DIR.'
    )
  return model


def _num_values(config: config_lib.Seq2SeqConfig) -> int:
  """Returns how many numbers a model of these sizes has at least."""
  attention = 4 * config.num_heads * config.head_size
  layers = config.num_layers + config.num_decoder_layers
  layer = attention + 2 * config.intermediate_size
  return config.hidden_size * (config.vocab_size + layers * layer)


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
  except ValueError as error:  # From the config's own checks.
    raise json_files.wrong(path, 'be the config of a T5', error) from error
