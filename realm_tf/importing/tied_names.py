"""Finds the tensors that BERT's masked-LM head shares with its encoder.

  names of a file -> [this file] -> name that we read -> name in the file

Files keep a shared tensor under either of its names, or under both.
"""

from collections.abc import Mapping

import numpy as np

from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import json_file
from realm_tf.importing import safetensors_files

# Name that we read -> its other name.
_TIED = {
  'embeddings.word_embeddings.weight': 'cls.predictions.decoder.weight',
  'cls.predictions.bias': 'cls.predictions.decoder.bias',
}
_DECODER = 'cls.predictions.decoder.weight'
_HEAD = 'cls.predictions.transform.dense.weight'


def is_copy(name: str) -> bool:
  """Returns whether a file's name is the second one of a shared tensor."""
  return hugging_face_names.modern(name) in _TIED.values()


def resolve(
  names: Mapping[str, str],
  tensors: safetensors_files.Tensors,
  config: json_file.JsonFile,
) -> dict[str, str]:
  """Returns names with those that stand in for a missing one.

  Args:
    names: Name without 'bert.' -> name in the file.
    tensors: The file.
    config: config.json, which says whether weights are shared.

  Raises:
    UserError: Two tensors that the head shares differ.
  """
  is_tied = config.get('tie_word_embeddings', bool, True)
  if not is_tied and _HEAD in names and _DECODER not in names:
    raise _untied(config, f'no {_DECODER}')
  resolved = dict(names)
  for read, other in _TIED.items():
    if other in names and read not in names:
      resolved[read] = names[other]
    elif other in names and not _equal(tensors, names[read], names[other]):
      raise _untied(config, f'{names[other]} that is not {names[read]}')
  return resolved


def _equal(tensors, one, other):
  return tensors.shape(one) == tensors.shape(other) and np.array_equal(
    tensors[one], tensors[other]
  )


def _untied(config, found):
  return errors.UserError(
    'The masked-LM head must share its weights with the encoder '
    f'(tie_word_embeddings in {config.path}). Found {found}. Choose another '
    'model, or save it without its head.'
  )
