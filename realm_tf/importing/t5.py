"""A Hugging Face T5 directory -> a `Seq2Seq` with its weights.

  config.json, model.safetensors, spiece.model -> [this file] -> encoder-decoder

Reads v1.0 and v1.1 without torch or transformers.
"""

import os
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import hugging_face
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import safetensors_files
from realm_tf.modeling import seq2seq
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.text import sentencepieces

_ACTIVATIONS = {'relu': 'relu', 'gated-gelu': 'gated_gelu'}
_NEEDED = {'model_type': 't5', 'layer_norm_epsilon': 1e-6}
# Copies of the embeddings that some files also have.
_COPIES = 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'


def is_t5(directory: str) -> bool:
  """Returns whether a Hugging Face directory says that it holds a T5."""
  return hugging_face.read_config(directory).get('model_type') == 't5'


def load_imported(
  directory: str, given: imported.Given = imported.NOTHING
) -> imported.Imported:
  """Returns a directory's T5 with its SentencePiece model.

  Raises:
    UserError: See `load`; or there is no SentencePiece model, or a larger one.
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
  config = config_lib.ExperimentConfig(
    model=config_lib.ModelConfig(seq2seq=model.config)
  )
  names = sorted(each.name for each in model.named())
  return imported.Imported(
    config,
    weights.values(model.trainable_variables),
    hugging_face_names.Report(names, [], []),
    vocab_file=path,
  )


def load(directory: str) -> seq2seq.Seq2Seq:
  """Returns the model of a directory.

  Raises:
    UserError: A file is missing or damaged, or it is another kind of model.
  """
  found = hugging_face.read_config(directory)
  path = os.path.join(directory, 'config.json')
  model = seq2seq.Seq2Seq(_config(path, found))
  arrays = safetensors_files.read(directory, without=_COPIES)
  for name, variable, is_transposed in model.named():
    array = arrays.pop(name, None)
    if array is None and name == 'shared.weight':
      array = arrays.pop('lm_head.weight', None)  # Stored once if tied.
    value = None if array is None else np.float32(array)
    if value is not None and is_transposed:
      value = value.T
    if value is None or value.shape != tuple(variable.shape):
      raise errors.UserError(
        f'{directory} must have {name} of shape {tuple(variable.shape)}. Found '
        f'{"none" if value is None else value.shape}. Check --source=hf:DIR.'
      )
    variable.assign(value)
  arrays.pop('lm_head.weight', None)
  if arrays:
    raise errors.UserError(
      f'{directory} must have the weights of a T5 alone. Found also '
      f'{sorted(arrays)[0]}. Check --source=hf:DIR.'
    )
  return model


def _config(path: str, found: dict[str, Any]) -> config_lib.Seq2SeqConfig:
  activation = _ACTIVATIONS.get(found.get('feed_forward_proj', 'relu'))
  wrong = [k for k, v in _NEEDED.items() if found.get(k, v) != v]
  if wrong or activation is None:
    name = wrong[0] if wrong else 'feed_forward_proj'
    raise errors.UserError(
      f'{path} must be of a T5, v1.0 or v1.1. Found {name}='
      f'{found.get(name)!r}. Choose another model.'
    )
  try:
    return config_lib.Seq2SeqConfig(
      vocab_size=found['vocab_size'],
      hidden_size=found['d_model'],
      head_size=found['d_kv'],
      num_layers=found['num_layers'],
      num_decoder_layers=found.get('num_decoder_layers') or found['num_layers'],
      num_heads=found['num_heads'],
      intermediate_size=found['d_ff'],
      activation=activation,
      tied_logits=found.get('tie_word_embeddings', True),
      num_buckets=found.get('relative_attention_num_buckets', 32),
      max_distance=found.get('relative_attention_max_distance', 128),
    )
  except (KeyError, TypeError, ValueError) as error:
    raise errors.UserError(
      f'{path} must be the config of a T5. Found: {error}. Check '
      '--source=hf:DIR.'
    ) from error
