"""Writes model directories with random parameters, and their indexes."""

from collections.abc import Sequence

import tensorflow as tf
import tf_keras

from realm_tf.index import index_builder
from realm_tf.model import realm_model
from realm_tf.training import job


def write(
  path: str,
  inputs: job.Inputs,
  parts: Sequence[str],
  *,
  step: int = 0,
  seed: int = 0,
  scale: float = 1.0,
  noise: float = 0.0,
) -> realm_model.RealmModel:
  """Writes a version of a model's parameters; returns the model.

  Args:
    scale: Factor of all matrices.
    noise: Standard deviation of what all weights, biases too, get more.
  """
  job.Job(path).begin(inputs.config, inputs.vocab_file)
  tf_keras.utils.set_random_seed(seed)  # `begin` sets another seed.
  model = realm_model.RealmModel(
    inputs.config.model,
    parts,
    inputs.tokenizer.is_inner,
    inputs.config.finetuning.null_spans,
  )
  for variable in model.variables:
    if scale != 1 and len(variable.shape) > 1:
      variable.assign(variable * scale)
    if noise:
      variable.assign_add(tf.random.normal(variable.shape, stddev=noise))
  job.publish(path, step, model)
  return model


def index(
  inputs: job.Inputs, model: realm_model.RealmModel, root: str, step: int = 0
) -> None:
  """Builds version `step` of the index in the directory `root`."""
  index_builder.IndexBuilder(
    inputs.table,
    inputs.config,
    inputs.tokenizer.special_ids,
    inputs.tokenizer.mask_id,
    model,
  ).build(step, root)
