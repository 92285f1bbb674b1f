"""Reads prompts, length and similarity of a sentence-transformers model."""

from collections.abc import Sequence
import os
from typing import Any, NamedTuple, Optional

from realm_tf.importing import json_files
from realm_tf.rundir import json_shapes

# Names of prompts; the first non-empty prompt counts.
_QUERY_PROMPTS = ('query',)
_BLOCK_PROMPTS = ('document', 'passage', 'corpus')
_MODEL_FILE = 'config_sentence_transformers.json'
_MODEL = {
  'model_type': json_shapes.optional(json_shapes.one_of('SentenceTransformer')),
  'truncate_dim': json_shapes.optional(json_shapes.one_of(0)),
  'similarity_fn_name': json_shapes.optional(
    json_shapes.one_of('cosine', 'dot', '')
  ),
  'prompts': json_shapes.optional(
    json_shapes.map_of(json_shapes.nullable(json_shapes.TEXT))
  ),
  'default_prompt_name': json_shapes.optional(json_shapes.TEXT),
}
# Arguments for transformers, in the old and the new spelling. The harmless ones
# change at most the last digits of results.
_ARGUMENTS = (
  'model_args',
  'model_kwargs',
  'tokenizer_args',
  'processor_kwargs',
  'config_args',
  'config_kwargs',
  'processing_kwargs',
)
_HARMLESS = ('attn_implementation', 'dtype', 'torch_dtype', 'trust_remote_code')
_MODALITY = {'method': 'forward', 'method_output_name': 'last_hidden_state'}
_ENCODER_FILE = 'sentence_bert_config.json'
_ENCODER = {
  'transformer_task': json_shapes.optional(
    json_shapes.one_of('feature-extraction')
  ),
  'module_output_name': json_shapes.optional(
    json_shapes.one_of('token_embeddings')
  ),
  'modality_config': json_shapes.optional(
    json_shapes.object_of({'text': json_shapes.one_of(_MODALITY)})
  ),
  'tokenizer_name_or_path': json_shapes.optional(json_shapes.one_of('')),
  'do_lower_case': json_shapes.optional(json_shapes.SWITCH),
  'max_seq_length': json_shapes.optional(json_shapes.COUNT),
  **dict.fromkeys(_ARGUMENTS, json_shapes.optional(json_shapes.OBJECT)),
}
# transformers writes 1e30 for no limit, as an integer or a float.
_NO_LIMIT = 1e9
_LENGTH = json_shapes.optional(
  json_shapes.Shape('a number', lambda value: type(value) in (int, float))
)
_TOKENIZER = {
  'model_max_length': _LENGTH,
  'max_len': _LENGTH,
  'do_lower_case': json_shapes.optional(json_shapes.SWITCH),
}


class Settings(NamedTuple):
  """Prompts, '' for none, and other settings.

  Attributes:
    max_length: Wordpieces of the longest text with [CLS] and [SEP]; None for
      the number of positions.
    similarity: 'cosine', 'dot', or '' if unknown.
  """

  query_prompt: str = ''
  block_prompt: str = ''
  max_length: Optional[int] = None
  similarity: str = ''


def read(directory: str, encoder_dir: str) -> Settings:
  """Returns the settings; UserError if realm_tf does not support one."""
  max_length = tokenizer_length(encoder_dir)
  encoder = json_files.read(encoder_dir, _ENCODER_FILE, _ENCODER)
  if encoder is not None:
    _check_encoder(encoder, encoder_dir)
    max_length = encoder.get('max_seq_length', max_length)
  model = json_files.read(directory, _MODEL_FILE, _MODEL) or {}
  path = os.path.join(directory, _MODEL_FILE)
  return Settings(
    _prompt(model, _QUERY_PROMPTS, path),
    _prompt(model, _BLOCK_PROMPTS, path),
    max_length,
    model.get('similarity_fn_name', ''),
  )


def tokenizer_length(encoder_dir: str) -> Optional[int]:
  """Returns the tokenizer's maximum length; None without a limit."""
  values = _tokenizer(encoder_dir)
  length = values.get('model_max_length', values.get('max_len', _NO_LIMIT))
  return int(length) if abs(length) < _NO_LIMIT else None


def _tokenizer(encoder_dir: str) -> dict[str, Any]:
  name = 'tokenizer_config.json'
  return json_files.read(encoder_dir, name, _TOKENIZER) or {}


def _check_encoder(values: dict[str, Any], directory: str) -> None:
  """Refuses unsupported settings in sentence_bert_config.json."""
  path = os.path.join(directory, _ENCODER_FILE)
  for name in _ARGUMENTS:
    others = sorted(set(values.get(name, ())) - set(_HARMLESS))
    if others:
      raise json_files.wrong(
        path, f'have no {name} but {", ".join(_HARMLESS)}', others[:8]
      )
  lowers = _tokenizer(directory).get('do_lower_case', True)
  if values.get('do_lower_case') and not lowers:
    raise json_files.wrong(
      path,
      'agree with tokenizer_config.json',
      'do_lower_case=true here and false there',
    )


def _prompt(model: dict[str, Any], names: Sequence[str], path: str) -> str:
  """Returns the first non-empty prompt of `names`, or the default prompt."""
  prompts = model.get('prompts', {})
  default = model.get('default_prompt_name', '')
  if default and default not in prompts:
    raise json_files.wrong(
      path, 'have the prompt of default_prompt_name', json_shapes.shown(default)
    )
  texts = (prompts.get(name) for name in (*names, default))
  return next(filter(None, texts), '')
