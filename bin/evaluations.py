"""Reads what bin.evaluate measured, for the scripts' tables."""

from collections.abc import Mapping
import json
import os

import tensorflow as tf

from realm_tf import errors


def metrics(output_dir: str, script: str) -> Mapping:
  """Returns metrics.json of an evaluation.

  Args:
    output_dir: That of `bin.evaluate`.
    script: What runs it.

  Raises:
    UserError: It is not there.
  """
  path = os.path.join(output_dir, 'metrics.json')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'Every evaluation must be done. Found no {path}. Run {script} again: it '
      'goes on where it stopped.'
    )
  with tf.io.gfile.GFile(path) as file:
    return json.loads(file.read())
