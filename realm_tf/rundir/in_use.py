"""Which index versions a trainer uses: it says so, and pruning spares them.

  trainer -> <run_dir>/index_in_use.json -> whoever removes old versions

Best effort: a trainer goes on without the file, and a version that is removed
in spite of it is only refused, or stays in memory where it is loaded already.
"""

from collections.abc import Sequence

from absl import logging
import tensorflow as tf

from realm_tf.rundir import json_files
from realm_tf.rundir import layout


def declare(run_dir: str, steps: Sequence[int]) -> None:
  """Says that the index versions of these steps are in use, and no others.

  Args:
    run_dir: Of the trainer.
    steps: Of the version in use and of the one being loaded, as far as there
      are any.
  """
  path = layout.index_in_use_file(run_dir)
  try:
    json_files.write(path, {'steps': [int(step) for step in steps]})
  except (OSError, tf.errors.OpError) as error:
    logging.warning('Could not write %s: %s', path, error)


def read(run_dir: str) -> tuple[int, ...]:
  """Returns the declared steps; () where there are none to be read."""
  content = json_files.read(layout.index_in_use_file(run_dir))
  steps = content.get('steps') if isinstance(content, dict) else None
  if not isinstance(steps, list):
    return ()
  return tuple(step for step in steps if isinstance(step, int))
