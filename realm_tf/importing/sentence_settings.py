"""Reads how sentence-transformers uses a model: prompts, length, similarity.

  config_sentence_transformers.json, sentence_bert_config.json,
  tokenizer_config.json -> [this file] -> Settings

What changes embeddings or scores and is not computed here is refused.
"""

import reprlib
from typing import NamedTuple, Optional

from realm_tf.importing import json_file

# Names of prompts, the first that has a text is taken.
_QUERY_PROMPTS = ('query',)
_BLOCK_PROMPTS = ('document', 'passage', 'corpus')
_SIMILARITIES = ('cosine', 'dot')
# Arguments for transformers, in the old and the new spelling, and those of
# them that change no result, or only its last digits.
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
_NEEDED = {
  'transformer_task': 'feature-extraction',
  'module_output_name': 'token_embeddings',
}

_MODALITY = {
  'text': {'method': 'forward', 'method_output_name': 'last_hidden_state'}
}


class Settings(NamedTuple):
  """Use of a model.

  Attributes:
    query_prompt: Text before each query, '' for none.
    block_prompt: Text before each block, '' for none.
    max_length: Longest text in wordpieces, [CLS] and [SEP] included; None for
      all that have a position.
    similarity: 'cosine', 'dot', or '' if the directory does not say.
  """

  query_prompt: str = ''
  block_prompt: str = ''
  max_length: Optional[int] = None
  similarity: str = ''


def read(directory: str, encoder_dir: str, has_modules: bool) -> Settings:
  """Returns the settings of a directory.

  Args:
    directory: Directory of modules.json, if there is one.
    encoder_dir: Directory of the BERT.
    has_modules: Whether there is modules.json. Without it sentence-transformers
      reads nothing but the tokenizer's length.

  Raises:
    UserError: A file is damaged, or asks for what we do not compute.
  """
  tokenizer = json_file.read(encoder_dir, 'tokenizer_config.json')
  max_length = _tokenizer_length(tokenizer)
  if not has_modules:
    return Settings(max_length=max_length)
  encoder = json_file.read(encoder_dir, 'sentence_bert_config.json')
  if encoder is not None:
    _check_encoder(encoder, tokenizer)
    max_length = encoder.get('max_seq_length', int, max_length)
  model = json_file.read(directory, 'config_sentence_transformers.json')
  if model is None:
    return Settings(max_length=max_length)
  kind = model.get('model_type', str, 'SentenceTransformer')
  if kind != 'SentenceTransformer':
    raise model.wrong(
      "must have model_type='SentenceTransformer'", reprlib.repr(kind)
    )
  if 'truncate_dim' in model.values and model.get('truncate_dim', int, 0):
    raise model.wrong(
      'must leave embeddings whole',
      f'truncate_dim={model.values["truncate_dim"]}',
    )
  similarity = model.get('similarity_fn_name', str, '')
  if similarity and similarity not in _SIMILARITIES:
    raise model.wrong(
      f'must have similarity_fn_name {" or ".join(_SIMILARITIES)}',
      reprlib.repr(similarity),
    )
  return Settings(
    _prompt(model, _QUERY_PROMPTS),
    _prompt(model, _BLOCK_PROMPTS),
    max_length,
    similarity,
  )


def _tokenizer_length(tokenizer):
  """Returns model_max_length; None if there is none, or no real one."""
  if tokenizer is None:
    return None
  names = [n for n in ('model_max_length', 'max_len') if n in tokenizer.values]
  if not names:
    return None
  # transformers writes 1e30 for no limit, as a whole number or as a float.
  length = tokenizer.get(names[0], float, 1e30)
  return int(length) if length < 1e9 else None


def _check_encoder(encoder, tokenizer):
  """Refuses what sentence_bert_config.json changes beside the length."""
  for name, value in _NEEDED.items():
    found = encoder.get(name, str, value)
    if found != value:
      raise encoder.wrong(f'must have {name}={value!r}', reprlib.repr(found))
  text = encoder.get('modality_config', dict, _MODALITY).get('text')
  if text != _MODALITY['text']:
    raise encoder.wrong(
      f'must have the modality_config {_MODALITY}', reprlib.repr(text)
    )
  for name in _ARGUMENTS:
    others = set(encoder.get(name, dict, {})) - set(_HARMLESS)
    if others:
      raise encoder.wrong(
        f'must have no {name} but {", ".join(_HARMLESS)}',
        reprlib.repr(sorted(others)),
      )
  if encoder.get('tokenizer_name_or_path', str, ''):
    raise encoder.wrong('must have its own tokenizer', 'tokenizer_name_or_path')
  if encoder.get('do_lower_case', bool, False) and not (
    tokenizer is None or tokenizer.get('do_lower_case', bool, True)
  ):
    raise encoder.wrong(
      'must agree with tokenizer_config.json',
      'do_lower_case=true here and false there',
    )


def _prompt(model, names) -> str:
  """Returns the first prompt of these names that is no empty text.

  Without one it is that of default_prompt_name, which `encode` takes.
  """
  prompts = json_file.JsonFile(model.path, model.get('prompts', dict, {}))
  default = model.get('default_prompt_name', str, '')
  if default and default not in prompts.values:
    raise model.wrong(
      'must have the prompt of default_prompt_name', reprlib.repr(default)
    )
  for name in (*names, default):
    if text := prompts.get(name, str, ''):
      return text
  return ''
