"""Reads the metrics and the times of a launch script's run."""

import collections
from collections.abc import Mapping
import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import json_files


def metrics(output_dir: str) -> Mapping:
  """Returns metrics.json in the --output_dir of `bin.evaluate`."""
  path = os.path.join(output_dir, 'metrics.json')
  if not tf.io.gfile.exists(path):
    raise errors.UserError(
      f'Every evaluation must be done. Found no {path}. Run the launch script '
      'again: it goes on where it stopped.'
    )
  return json_files.read_object(path, 'Evaluate again.')


def seconds(run_dir: str) -> Mapping[str, int]:
  """Returns the seconds of each stage, summed over restarts."""
  result = collections.Counter()
  with tf.io.gfile.GFile(os.path.join(run_dir, 'seconds.txt')) as file:
    for line in file.read().splitlines():
      stage, secs = line.split()
      result[stage] += int(secs)
  return result
