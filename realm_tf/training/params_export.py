"""Publishes the trainer's parameters as a version in the run directory."""

import tensorflow as tf

from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import untrained


def publish(run_dir: str, step: int, model: tf.Module) -> versions.Version:
  """Writes params/<step>/ of the run directory.

  It holds all of `model`'s weights, and those that the run got without
  training them.
  """
  arrays = {**untrained.read(run_dir), **weights.values(model.variables)}
  return versions.publish(
    layout.params_root(run_dir),
    step,
    lambda path: weights.write_arrays(arrays, layout.params_file(path)),
    {'params_fingerprint': weights.fingerprint_arrays(arrays)},
  )
