"""A Hugging Face T5 directory -> a `Seq2Seq` with its weights.

  config.json, model.safetensors, spiece.model -> [this file] -> encoder-decoder

Reads v1.0 and v1.1 without torch or transformers.
"""

import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.importing import bert_file
from realm_tf.importing import hugging_face_names
from realm_tf.importing import imported
from realm_tf.importing import json_file
from realm_tf.importing import safetensors_files
from realm_tf.modeling import seq2seq
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.text import sentencepieces

_ACTIVATIONS = {'relu': 'relu', 'gated-gelu': 'gated_gelu'}
_NEEDED = {'model_type': 't5', 'layer_norm_epsilon': 1e-6}
_LOGITS = 'lm_head.weight'
# Copies of the embeddings that some files also have.
_COPIES = 'encoder.embed_tokens.weight', 'decoder.embed_tokens.weight'


def is_t5(directory: str) -> bool:
  """Returns whether a Hugging Face directory says that it holds a T5."""
  return bert_file.read(directory).get('model_type', str, '') == 't5'


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
  found = bert_file.read(directory)
  config = _config(found)
  tensors = safetensors_files.open_directory(directory)
  if _num_values(config) > tensors.num_values:
    raise found.wrong(
      'must have the sizes of the weights',
      f'sizes of {_num_values(config)} numbers at least, and weights of '
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


def _config(found: json_file.JsonFile) -> config_lib.Seq2SeqConfig:
  feed_forward = found.get('feed_forward_proj', str, 'relu')
  if feed_forward not in _ACTIVATIONS:
    raise found.wrong(
      'must be of a T5, v1.0 or v1.1', f'feed_forward_proj={feed_forward!r}'
    )
  for name, value in _NEEDED.items():
    given = found.get(name, type(value), value)
    if given != value:
      raise found.wrong('must be of a T5, v1.0 or v1.1', f'{name}={given!r}')
  num_layers = found.get('num_layers', int)
  try:
    return config_lib.Seq2SeqConfig(
      vocab_size=found.get('vocab_size', int),
      hidden_size=found.get('d_model', int),
      head_size=found.get('d_kv', int),
      num_layers=num_layers,
      num_decoder_layers=found.get('num_decoder_layers', int, 0) or num_layers,
      num_heads=found.get('num_heads', int),
      intermediate_size=found.get('d_ff', int),
      activation=_ACTIVATIONS[feed_forward],
      tied_logits=found.get('tie_word_embeddings', bool, True),
      num_buckets=bert_file.width(found, 'relative_attention_num_buckets', 32),
      max_distance=found.get('relative_attention_max_distance', int, 128),
    )
  except ValueError as error:  # From the config's own checks.
    raise found.wrong('must be the config of a T5', str(error)) from error
