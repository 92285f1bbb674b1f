"""Reads pooling, projection and normalization of a sentence-transformers model.

modules.json names the modules, their order and their directories. Unsupported
modules and settings that change vectors or scores are refused by name.
"""

import os
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import input_files
from realm_tf import json_text
from realm_tf.importing import json_files
from realm_tf.importing import safetensors_files
from realm_tf.importing import sentence_settings
from realm_tf.rundir import json_shapes

_FILE = 'modules.json'
_PACKAGE = 'sentence_transformers.'
_ORDERS = (
  ('Transformer', 'Pooling'),
  ('Transformer', 'Pooling', 'Normalize'),
  ('Transformer', 'Pooling', 'Dense'),
  ('Transformer', 'Pooling', 'Dense', 'Normalize'),
)
_MODULE = {'type': json_shapes.TEXT, 'path': json_shapes.TEXT}
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
  (*_SWITCHES, 'include_prompt'), json_shapes.optional(json_shapes.SWITCH)
)
_ACTIVATIONS = {
  'torch.nn.modules.activation.Tanh': 'tanh',
  'torch.nn.modules.linear.Identity': 'identity',
  'torch.nn.Tanh': 'tanh',
  'torch.nn.Identity': 'identity',
}
_EMBEDDING = json_shapes.optional(json_shapes.one_of('sentence_embedding'))
_DENSE = {
  'activation_function': json_shapes.optional(
    json_shapes.one_of(*_ACTIVATIONS)
  ),
  'module_input_name': _EMBEDDING,
  'module_output_name': _EMBEDDING,
  'in_features': json_files.SIZE,
  'out_features': json_files.SIZE,
}


class Dense(NamedTuple):
  """A projection after the pooling; its activation is 'tanh' or 'identity'."""

  directory: str
  activation: str
  in_features: int
  out_features: int

  def read(self) -> dict[str, np.ndarray]:
    """Returns 'kernel' [in, out] and 'bias' [out], zeros without a bias."""
    tensors = safetensors_files.Tensors(self.directory)
    shape = self.out_features, self.in_features
    tensors.require({'linear.weight': shape})
    bias = np.zeros(shape[:1], np.float32)
    if 'linear.bias' in tensors:
      tensors.require({'linear.bias': shape[:1]})
      bias = tensors['linear.bias']
    kernel = np.ascontiguousarray(tensors['linear.weight'].T)
    return {'kernel': kernel, 'bias': bias}


class Recipe(NamedTuple):
  """The steps from a text to its vector.

  Attributes:
    directory: Directory of modules.json.
    encoder_dir: Directory of the BERT.
    head: Pooling, a value of `EmbedderConfig.head`.
    normalizes: Whether a module scales vectors to length 1.
  """

  directory: str
  encoder_dir: str
  has_modules: bool
  head: str
  dense: Optional[Dense]
  normalizes: bool
  settings: sentence_settings.Settings

  @property
  def modules_path(self) -> str:
    return os.path.join(self.directory, _FILE)

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
    settings = sentence_settings.Settings(
      max_length=sentence_settings.tokenizer_length(directory)
    )
    return Recipe(directory, directory, False, 'mean', None, True, settings)
  modules = _modules(directory, path)
  settings = sentence_settings.read(directory, modules['Transformer'])
  pooling = json_files.require(modules['Pooling'], 'config.json', _POOLING)
  has_prompt = settings.query_prompt or settings.block_prompt
  if has_prompt and not pooling.get('include_prompt', True):
    raise json_files.wrong(
      path, 'have a Pooling that reads prompts', 'include_prompt=false'
    )
  return Recipe(
    directory,
    modules['Transformer'],
    True,
    _head(pooling, modules['Pooling']),
    _dense(modules['Dense']) if 'Dense' in modules else None,
    'Normalize' in modules,
    settings,
  )


def _modules(directory: str, path: str) -> dict[str, str]:
  """Returns the directory of each kind of module."""
  entries = json_text.parse(input_files.read(path), path, 'Copy it again.')
  if not isinstance(entries, list):
    raise json_files.wrong(path, 'be a list', json_shapes.shown(entries))
  found = []
  for entry in entries:
    module = json_files.check(entry, _MODULE, path)
    kind = module['type'].rpartition('.')[2]
    if not module['type'].startswith(_PACKAGE) or kind not in _ORDERS[-1]:
      raise json_files.wrong(
        path,
        'list no modules but Transformer, Pooling, Dense and Normalize',
        json_shapes.shown(module['type']),
      )
    place = module['path']
    found.append((kind, os.path.join(directory, place) if place else directory))
  kinds = tuple(kind for kind, _ in found)
  if kinds not in _ORDERS:
    raise json_files.wrong(
      path,
      'list Transformer, Pooling and, if at all, Dense and Normalize, in this '
      'order',
      kinds[:8],
    )
  return dict(found)


def _head(pooling: dict[str, Any], directory: str) -> str:
  """Returns our head for a Pooling in the old or the new spelling."""
  modes = pooling.get('pooling_mode')
  if modes is None:
    modes = [mode for name, mode in _SWITCHES.items() if pooling.get(name)]
    modes = modes or ['mean']
  modes = modes if isinstance(modes, list) else [modes]
  if len(modes) != 1 or modes[0] not in list(_HEADS):
    raise json_files.wrong(
      os.path.join(directory, 'config.json'),
      f'have one pooling_mode of {", ".join(_HEADS)}',
      modes[:8],
    )
  return _HEADS[modes[0]]


def _dense(directory: str) -> Dense:
  values = json_files.require(directory, 'config.json', _DENSE)
  name = values.get('activation_function', next(iter(_ACTIVATIONS)))
  return Dense(
    directory, _ACTIVATIONS[name], values['in_features'], values['out_features']
  )
