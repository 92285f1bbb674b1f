"""Publishes parameters: a run's, and the average of two models.

A run's come with the untrained weights of --init_from. ICT, for one, trains
only the embedders (Section 3.4) and publishes the reader of --init_from
unchanged. untrained.safetensors keeps that reader from the run's start, so a
resumed run publishes the same one.
"""

from collections.abc import Mapping
import operator

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import outputs
from realm_tf.run import versions

# Fields of `BertConfig` that decide the shapes of weights.
_SIZES = (
  'vocab_size',
  'hidden_size',
  'num_layers',
  'num_heads',
  'intermediate_size',
  'max_positions',
)


def publish(run_dir: str, step: int, model: tf.Module) -> versions.Version:
  """Writes params/<step>/ with `model`'s weights and the untrained ones."""
  return model_files.publish(
    run_dir,
    step,
    {**read_untrained(run_dir), **weights.values(model.variables)},
  )


def keep_untrained(
  run_dir: str,
  init_from: str,
  arrays: Mapping[str, np.ndarray],
  *,
  model: config_lib.ModelConfig,
) -> None:
  """Stores weights of `init_from` that the job publishes but does not train.

  Args:
    model: Config of the run. A reader with other sizes is not stored.
  """
  theirs = config_files.read(init_from).model
  left_out: tuple[str, ...] = ()
  sizes = operator.attrgetter(*_SIZES)
  if sizes(theirs.reader_bert) != sizes(model.reader_bert):
    left_out = realm_model.READER_PREFIXES
    if any(name.startswith(left_out) for name in arrays):
      logging.warning(
        'The reader of %s is left out: its sizes differ from '
        '`model.reader_bert`.',
        init_from,
      )
  elif theirs.span_hidden_size != model.span_hidden_size:
    left_out = ('span_reader/',)
  kept = {n: arrays[n] for n in arrays if not n.startswith(left_out)}
  outputs.remove([layout.untrained_file(run_dir)])
  if kept:
    weights.write(kept, layout.untrained_file(run_dir))
    logging.info('%d untrained weights are published too.', len(kept))


def read_untrained(run_dir: str) -> dict[str, np.ndarray]:
  """Returns the stored weights by name, or {}."""
  path = layout.untrained_file(run_dir)
  return weights.read(path) if tf.io.gfile.exists(path) else {}


def write_average(
  model_dir: str, before_dir: str, weight: float, *, output_dir: str
) -> versions.Version:
  """Writes a new model directory with the step and reader of `model_dir`.

  Training on one kind of query makes an encoder forget others: sentences have
  no "when" and no "where". The average of embedders, (1 - w) before + w after,
  keeps the knowledge of both (Wortsman et al. 2022, Robust fine-tuning of
  zero-shot models, Section 2).

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
  model_files.check_new(output_dir)
  arrays = average(after, other.read_params(), weight, where=before_dir)
  vocab_file = layout.vocab_file(model_dir)
  model_files.create_new(output_dir, opened.config, vocab_file)
  return model_files.publish(output_dir, opened.params.step, arrays)


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
