"""Finds the tensors that BERT's masked-LM head shares with its encoder.

Files store a shared tensor under either name, or under both.
"""

import numpy as np

from realm_tf import errors
from realm_tf.importing import hugging_face_names
from realm_tf.importing import safetensors_files

_DECODER = 'cls.predictions.decoder.weight'
# Name that we read -> second name.
_TIED = {
  'embeddings.word_embeddings.weight': _DECODER,
  'cls.predictions.bias': 'cls.predictions.decoder.bias',
}
_HEAD = 'cls.predictions.transform.dense.weight'


def is_copy(name: str) -> bool:
  """Returns whether a name is the second name of a shared tensor."""
  return hugging_face_names.modern(name) in _TIED.values()


def resolve(
  names: dict[str, str],
  tensors: safetensors_files.Tensors,
  is_tied: bool,
  config_path: str,
) -> None:
  """Adds shared tensors to `names`; UserError if the head's tensors differ.

  Args:
    names: Name that we read -> name in the file.
    is_tied: Whether the config declares shared weights.
    config_path: config.json, for the error.
  """
  if not is_tied and _HEAD in names and _DECODER not in names:
    raise _untied(config_path, f'no {_DECODER}')
  for read, other in _TIED.items():
    if other in names and read not in names:
      names[read] = names[other]
    elif other in names and not _equal(tensors, names[read], names[other]):
      raise _untied(config_path, f'{names[other]} that is not {names[read]}')


def _equal(tensors: safetensors_files.Tensors, one: str, other: str) -> bool:
  return tensors.shape(one) == tensors.shape(other) and np.array_equal(
    tensors[one], tensors[other]
  )


def _untied(config_path: str, found: str) -> errors.UserError:
  return errors.UserError(
    'The masked-LM head must share its weights with the encoder '
    f'(tie_word_embeddings in {config_path}). Found {found}. Choose another '
    'model, or save it without its head.'
  )
