"""Reads pooling, projection and normalization of a sentence-transformers model.

modules.json names the modules, their order and their directories. Unsupported
modules and settings that change vectors or scores are refused by name.
"""

import os
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from realm_tf import input_files
from realm_tf import json_text
from realm_tf.exchange import hugging_face_files

# Names of prompts; the first non-empty prompt counts.
_QUERY_PROMPTS = ('query',)
_BLOCK_PROMPTS = ('document', 'passage', 'corpus')
_MODEL_FILE = 'config_sentence_transformers.json'
_MODEL = {
  'model_type': json_text.optional(json_text.one_of('SentenceTransformer')),
  'truncate_dim': json_text.optional(json_text.one_of(0)),
  'similarity_fn_name': json_text.optional(
    json_text.one_of('cosine', 'dot', '')
  ),
  'prompts': json_text.optional(dict[str, str | None]),
  'default_prompt_name': json_text.optional(str),
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
_MODALITY = {
  'method': json_text.one_of('forward'),
  'method_output_name': json_text.one_of('last_hidden_state'),
}
_ENCODER_FILE = 'sentence_bert_config.json'
_ENCODER = {
  'transformer_task': json_text.optional(
    json_text.one_of('feature-extraction')
  ),
  'module_output_name': json_text.optional(
    json_text.one_of('token_embeddings')
  ),
  'modality_config': json_text.optional(
    json_text.object_of({'text': json_text.object_of(_MODALITY)})
  ),
  'tokenizer_name_or_path': json_text.optional(json_text.one_of('')),
  'do_lower_case': json_text.optional(bool),
  'max_seq_length': json_text.optional(json_text.COUNT),
  **dict.fromkeys(_ARGUMENTS, json_text.optional(dict)),
}
# transformers writes 1e30 for no limit, as an integer or a float.
_NO_LIMIT = 1e9
_LENGTH = json_text.optional(json_text.NUMBER)
_TOKENIZER = {
  'model_max_length': _LENGTH,
  'max_len': _LENGTH,
  'do_lower_case': json_text.optional(bool),
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
  max_length: int | None = None
  similarity: str = ''


def _read_settings(directory: str, encoder_dir: str) -> Settings:
  """Returns the settings; UserError if realm_tf does not support one."""
  max_length, lowers = tokenizer_limits(encoder_dir)
  encoder = hugging_face_files.read_json(encoder_dir, _ENCODER_FILE, _ENCODER)
  path = os.path.join(encoder_dir, _ENCODER_FILE)
  for name in _ARGUMENTS:
    others = sorted(set(encoder.get(name, ())) - set(_HARMLESS))
    if others:
      raise hugging_face_files.wrong(
        path, f'have no {name} but {", ".join(_HARMLESS)}', others[:8]
      )
  if encoder.get('do_lower_case') and not lowers:
    raise hugging_face_files.wrong(
      path,
      'agree with tokenizer_config.json',
      'do_lower_case=true here and false there',
    )
  model = hugging_face_files.read_json(directory, _MODEL_FILE, _MODEL)
  prompts = model.get('prompts', {})
  default = model.get('default_prompt_name', '')
  if default and default not in prompts:
    raise hugging_face_files.wrong(
      os.path.join(directory, _MODEL_FILE),
      'have the prompt of default_prompt_name',
      json_text.shown(default),
    )
  query_prompt, block_prompt = (
    next(filter(None, (prompts.get(name) for name in (*names, default))), '')
    for names in (_QUERY_PROMPTS, _BLOCK_PROMPTS)
  )
  return Settings(
    query_prompt,
    block_prompt,
    encoder.get('max_seq_length', max_length),
    model.get('similarity_fn_name', ''),
  )


def tokenizer_limits(encoder_dir: str) -> tuple[int | None, bool]:
  """Returns the tokenizer's maximum length, if any, and whether it lowers."""
  values = hugging_face_files.read_json(
    encoder_dir, 'tokenizer_config.json', _TOKENIZER
  )
  length = values.get('model_max_length', values.get('max_len', _NO_LIMIT))
  max_length = int(length) if abs(length) < _NO_LIMIT else None
  return max_length, values.get('do_lower_case', True)


_FILE = 'modules.json'
_PACKAGE = 'sentence_transformers.'
_ORDERS = (
  ('Transformer', 'Pooling'),
  ('Transformer', 'Pooling', 'Normalize'),
  ('Transformer', 'Pooling', 'Dense'),
  ('Transformer', 'Pooling', 'Dense', 'Normalize'),
)
_MODULE = {'type': str, 'path': str}
# Mode of Pooling -> our head. Other modes are refused.
_HEADS = {'cls': 'first', 'mean': 'mean', 'max': 'max'}
# Switch of each mode in releases up to 4.
_SWITCHES = {
  'pooling_mode_cls_token': 'cls',
  'pooling_mode_max_tokens': 'max',
  'pooling_mode_mean_tokens': 'mean',
  'pooling_mode_mean_sqrt_len_tokens': 'mean_sqrt_len_tokens',
  'pooling_mode_weightedmean_tokens': 'weightedmean',
  'pooling_mode_lasttoken': 'lasttoken',
}
_POOLING = dict.fromkeys(
  (*_SWITCHES, 'include_prompt'), json_text.optional(bool)
)
_ACTIVATIONS = {
  'torch.nn.modules.activation.Tanh': 'tanh',
  'torch.nn.modules.linear.Identity': 'identity',
  'torch.nn.Tanh': 'tanh',
  'torch.nn.Identity': 'identity',
}
_EMBEDDING = json_text.optional(json_text.one_of('sentence_embedding'))
_DENSE = {
  'activation_function': json_text.optional(json_text.one_of(*_ACTIVATIONS)),
  'module_input_name': _EMBEDDING,
  'module_output_name': _EMBEDDING,
}


class Dense(NamedTuple):
  """A projection after the pooling.

  Attributes:
    activation: 'tanh' or 'identity'.
    kernel: float32 [in, out].
    bias: float32 [out], zeros without a bias.
  """

  activation: str
  kernel: np.ndarray
  bias: np.ndarray


class Recipe(NamedTuple):
  """The steps from a text to its vector.

  Attributes:
    encoder_dir: Directory of the BERT.
    head: Pooling, a value of `EmbedderConfig.head`.
    normalizes: Whether a module scales vectors to length 1.
  """

  encoder_dir: str
  head: str
  dense: Dense | None
  normalizes: bool
  settings: Settings

  @property
  def normalize(self) -> bool:
    """Whether scores are cosines."""
    return self.normalizes or self.settings.similarity == 'cosine'


def read(directory: str) -> Recipe:
  """Returns a directory's recipe; UserError if realm_tf does not support it.

  Without modules.json, sentence-transformers' default is the normalized mean.
  """
  path = os.path.join(directory, _FILE)
  if not tf.io.gfile.exists(path):
    settings = Settings(max_length=tokenizer_limits(directory)[0])
    return Recipe(directory, 'mean', None, True, settings)
  modules = _modules(directory, path)
  settings = _read_settings(directory, modules['Transformer'])
  pooling = hugging_face_files.read_json(
    modules['Pooling'], 'config.json', _POOLING, required=True
  )
  has_prompt = settings.query_prompt or settings.block_prompt
  if has_prompt and not pooling.get('include_prompt', True):
    raise hugging_face_files.wrong(
      path, 'have a Pooling that reads prompts', 'include_prompt=false'
    )
  return Recipe(
    modules['Transformer'],
    _head(pooling, modules['Pooling']),
    _dense(modules['Dense']) if 'Dense' in modules else None,
    'Normalize' in modules,
    settings,
  )


def _modules(directory: str, path: str) -> dict[str, str]:
  """Returns the directory of each kind of module."""
  entries = json_text.parse(input_files.read(path), path, 'Copy it again.')
  if not isinstance(entries, list):
    raise hugging_face_files.wrong(path, 'be a list', json_text.shown(entries))
  found = []
  for entry in entries:
    module = hugging_face_files.check(entry, _MODULE, path)
    kind = module['type']
    if kind.startswith(_PACKAGE):
      kind = kind.rpartition('.')[2]
    place = module['path']
    found.append((kind, os.path.join(directory, place) if place else directory))
  kinds = tuple(kind for kind, _ in found)
  if kinds not in _ORDERS:
    raise hugging_face_files.wrong(
      path,
      'list Transformer, Pooling and, if at all, Dense and Normalize of '
      'sentence-transformers, in this order, and no others',
      kinds[:8],
    )
  return dict(found)


def _head(pooling: dict[str, Any], directory: str) -> str:
  """Returns our head for a Pooling in the old or the new spelling."""
  switched = [mode for name, mode in _SWITCHES.items() if pooling.get(name)]
  modes = pooling.get('pooling_mode') or switched or 'mean'
  modes = modes if isinstance(modes, list) else [modes]
  if len(modes) != 1 or modes[0] not in list(_HEADS):
    raise hugging_face_files.wrong(
      os.path.join(directory, 'config.json'),
      f'have one pooling_mode of {", ".join(_HEADS)}',
      modes[:8],
    )
  return _HEADS[modes[0]]


def _dense(directory: str) -> Dense:
  values = hugging_face_files.read_json(
    directory, 'config.json', _DENSE, required=True
  )
  tensors = hugging_face_files.Tensors(directory)
  if 'linear.weight' not in tensors:
    raise hugging_face_files.wrong(
      directory, 'have the weights of its Dense', 'no linear.weight'
    )
  kernel = np.ascontiguousarray(tensors['linear.weight'].T)
  bias = np.zeros(kernel.shape[-1:], np.float32)
  return Dense(
    _ACTIVATIONS[values.get('activation_function', next(iter(_ACTIVATIONS)))],
    kernel,
    tensors.get('linear.bias', bias),
  )
