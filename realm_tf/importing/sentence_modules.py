"""Reads modules.json: how sentence-transformers makes one vector of a text.

  modules.json, 1_Pooling, 2_Dense -> [this file] -> Modules

The list decides, as in sentence-transformers: which modules, in which order,
and where their files are. What we do not compute is refused by its name.
"""

from collections.abc import Mapping
import os
import reprlib
from typing import Any, NamedTuple, Optional

import numpy as np

from realm_tf import json_text
from realm_tf.importing import json_file
from realm_tf.importing import safetensors_files

_FILE = 'modules.json'
_PACKAGE = 'sentence_transformers.'
_ORDERS = (
  ('Transformer', 'Pooling'),
  ('Transformer', 'Pooling', 'Normalize'),
  ('Transformer', 'Pooling', 'Dense'),
  ('Transformer', 'Pooling', 'Dense', 'Normalize'),
)
# Our heads by the modes of Pooling; other modes are refused.
_HEADS = {'cls': 'first', 'mean': 'mean', 'max': 'max'}
# Modes in the spelling before release 5, one switch for each.
_SWITCHES = {
  'pooling_mode_cls_token': 'cls',
  'pooling_mode_max_tokens': 'max',
  'pooling_mode_mean_tokens': 'mean',
  'pooling_mode_mean_sqrt_len_tokens': 'mean_sqrt_len_tokens',
  'pooling_mode_weightedmean_tokens': 'weightedmean',
  'pooling_mode_lasttoken': 'lasttoken',
}
_ACTIVATIONS = {'Tanh': 'tanh', 'Identity': 'identity'}
_TANH = 'torch.nn.modules.activation.Tanh'  # By default.
_EMBEDDING = 'sentence_embedding'


class Dense(NamedTuple):
  """A projection behind the pooling.

  Attributes:
    directory: Directory of its weights.
    activation: 'tanh' or 'identity'.
    in_features: Width of what is pooled.
    out_features: Width of the embeddings.
  """

  directory: str
  activation: str
  in_features: int
  out_features: int


class Modules(NamedTuple):
  """What modules.json lists.

  Attributes:
    encoder_dir: Directory of the BERT.
    head: Pooling, as `EmbedderConfig.head` names it.
    include_prompt: Whether the pooling reads a prompt, too.
    dense: Projection, if there is one.
    normalize: Whether embeddings get length 1.
  """

  encoder_dir: str
  head: str
  include_prompt: bool
  dense: Optional[Dense]
  normalize: bool


def read(directory: str) -> Optional[Modules]:
  """Returns the modules of a directory; None if it has no modules.json.

  Raises:
    UserError: A file is damaged, or a module is none that we compute.
  """
  path = os.path.join(directory, _FILE)
  data = json_file.read_bytes(path)
  if data is None:
    return None
  entries = json_text.parse(data, path, 'Copy it again.')
  file = json_file.JsonFile(path, {'modules': entries})
  found = [
    _kind_and_directory(directory, file, entry)
    for entry in file.get('modules', list)
  ]
  kinds = tuple(kind for kind, _ in found)
  if kinds not in _ORDERS:
    raise file.wrong(
      'must list Transformer, Pooling and, if at all, Dense and Normalize, in '
      'this order',
      reprlib.repr(kinds),
    )
  places = dict(found)
  pooling = json_file.require(places['Pooling'], 'config.json')
  return Modules(
    places['Transformer'],
    _head(pooling),
    pooling.get('include_prompt', bool, True),
    _dense(places['Dense']) if 'Dense' in places else None,
    'Normalize' in places,
  )


def encoder_dir(directory: str) -> str:
  """Returns the directory of the model's config.json and weights."""
  modules = read(directory)
  return directory if modules is None else modules.encoder_dir


def read_dense(dense: Dense) -> Mapping[str, np.ndarray]:
  """Returns 'kernel' [in, out] and 'bias' [out], float32; zeros for no bias.

  Raises:
    UserError: The weights are missing, damaged, or of other sizes.
  """
  tensors = safetensors_files.open_directory(dense.directory)
  shape = dense.out_features, dense.in_features
  tensors.require({'linear.weight': shape})
  kernel = tensors['linear.weight'].T
  bias = np.zeros(shape[:1], np.float32)
  if 'linear.bias' in tensors:
    tensors.require({'linear.bias': shape[:1]})
    bias = tensors['linear.bias']
  return {'kernel': np.ascontiguousarray(kernel), 'bias': bias}


def _kind_and_directory(directory, file, entry):
  module = json_file.JsonFile(file.path, entry if type(entry) is dict else {})
  name, path = module.get('type', str), module.get('path', str)
  kind = name.rpartition('.')[2]
  if not name.startswith(_PACKAGE) or kind not in _ORDERS[-1]:
    raise file.wrong(
      'must list no modules but Transformer, Pooling, Dense and Normalize',
      repr(name[:100]),
    )
  return kind, os.path.join(directory, path) if path else directory


def _head(file: json_file.JsonFile) -> str:
  """Returns our head of a Pooling in the old or the new spelling."""
  modes: Any = file.values.get('pooling_mode')
  if modes is None:
    switches = (name for name in _SWITCHES if file.get(name, bool, False))
    modes = [_SWITCHES[name] for name in switches] or ['mean']
  modes = modes if type(modes) is list else [modes]
  if len(modes) != 1 or modes[0] not in list(_HEADS):
    raise file.wrong(
      f'must have one pooling_mode of {", ".join(_HEADS)}', reprlib.repr(modes)
    )
  return _HEADS[modes[0]]


def _dense(directory) -> Dense:
  file = json_file.require(directory, 'config.json')
  name = file.get('activation_function', str, _TANH)
  activation = _ACTIVATIONS.get(name.rpartition('.')[2])
  if activation is None or not name.startswith('torch.'):
    raise file.wrong(
      'must have Tanh or Identity of torch.nn as activation_function',
      reprlib.repr(name),
    )
  for field in ('module_input_name', 'module_output_name'):
    place = file.get(field, str, _EMBEDDING)
    if place != _EMBEDDING:
      raise file.wrong(f'must have {field}={_EMBEDDING!r}', reprlib.repr(place))
  sizes = (file.get(name, int) for name in ('in_features', 'out_features'))
  return Dense(directory, activation, *sizes)
