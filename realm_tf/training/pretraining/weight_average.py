"""Averages a model's embedders with the embedders that training started from.

Training on one kind of query makes an encoder forget others: sentences have no
"when" and no "where". The average (1 - w) before + w after keeps the knowledge
of both (Wortsman et al. 2022, Robust fine-tuning of zero-shot models, Section
2).
"""

from collections.abc import Mapping

import numpy as np

from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import params_export


def write(
  model_dir: str, before_dir: str, weight: float, *, output_dir: str
) -> versions.Version:
  """Writes a new model directory with the step and reader of `model_dir`.

  Raises:
    UserError: A directory is no model directory or has no embedders, the
      vocabularies or the embedders' shapes differ, or `output_dir` holds
      parameters.
  """
  opened = model_files.open_model(model_dir)
  after = opened.read_params()
  if realm_model.EMBEDDER not in realm_model.parts_of(after):
    raise errors.UserError(
      'A model to be averaged must have embedders. Found none in '
      f'{opened.params.path}. Give a retriever.'
    )
  other = model_files.open_model(before_dir)
  sha256 = other.tokenizer.vocabulary_sha256
  if opened.tokenizer.vocabulary_sha256 != sha256:
    raise errors.UserError(
      f'Both models must have one vocabulary. Found another in {before_dir} '
      f'than in {model_dir}. Average a model with its own --init_from.'
    )
  if versions.steps(layout.params_root(output_dir)):
    raise errors.UserError(
      f'The average must go to a new directory. Found parameters in '
      f'{output_dir}. Give another, or remove it.'
    )
  arrays = average(after, other.read_params(), weight, where=before_dir)
  model_files.create(output_dir, opened.config, layout.vocab_file(model_dir))
  return params_export.publish_arrays(output_dir, opened.params.step, arrays)


def average(
  after: Mapping[str, np.ndarray],
  before: Mapping[str, np.ndarray],
  weight: float,
  *,
  where: str,
) -> dict[str, np.ndarray]:
  """Returns `after`, by name, with the embedders' weights averaged.

  Learned scalars (temperature, null bias) that only `after` has do not change.

  Args:
    weight: Weight of `after`, in [0, 1].
    where: Source of `before`, for errors.

  Raises:
    UserError: `before` lacks an embedder's weight, or has another shape.
  """
  result = dict(after)
  learned = realm_model.LOG_TEMPERATURE, realm_model.NULL_BIAS
  for name, value in after.items():
    if not name.startswith(realm_model.EMBEDDER_PREFIXES):
      continue
    if name in learned and name not in before:
      continue
    found = before[name].shape if name in before else 'none'
    if found != value.shape:
      raise errors.UserError(
        f'Embedders to be averaged must have the same shapes. Found {name} of '
        f'{value.shape}, and {found} in {where}. Average a model with its own '
        '--init_from.'
      )
    mean = weight * value + (1 - weight) * before[name]
    result[name] = np.asarray(mean, value.dtype)  # Scalars are no arrays.
  return result
