"""Publishes the trainer's parameters as a version in the run directory."""

import tensorflow as tf

from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions


def publish(run_dir: str, step: int, model: tf.Module) -> versions.Version:
  """Writes all of `model`'s weights as params/<step>/ of the run directory."""
  variables = model.variables
  return versions.publish(
    layout.params_root(run_dir),
    step,
    lambda path: weights.write(variables, layout.params_file(path)),
    {'params_fingerprint': weights.fingerprint(variables)},
  )
