"""Which index versions a trainer uses: it says so, and pruning spares them.

  trainer -> <run_dir>/index_in_use.json -> whoever removes old versions

Each process of a trainer has a file of its own.

Best effort: a trainer goes on without the file, and a version that is removed
in spite of it is only refused, or stays in memory where it is loaded already.
"""

from collections.abc import Sequence
import itertools

from absl import logging
import tensorflow as tf

from realm_tf.rundir import json_files
from realm_tf.rundir import layout


def declare(run_dir: str, process: int, steps: Sequence[int]) -> None:
  """Says that the index versions of these steps are in use, and no others.

  Args:
    run_dir: Of the trainer.
    process: Number of this process.
    steps: Of the version in use and of the one being loaded, as far as there
      are any.
  """
  path = layout.index_in_use_file(run_dir, process)
  try:
    json_files.write(path, {'steps': [int(step) for step in steps]})
  except (OSError, tf.errors.OpError) as error:
    logging.warning('Could not write %s: %s', path, error)


def read(run_dir: str) -> tuple[int, ...]:
  """Returns the steps that any process declared; () if none can be read."""
  steps: set[int] = set()
  for process in itertools.count():
    path = layout.index_in_use_file(run_dir, process)
    if not tf.io.gfile.exists(path):
      break
    content = json_files.read(path)
    declared = content.get('steps') if isinstance(content, dict) else None
    if isinstance(declared, list):
      steps.update(step for step in declared if isinstance(step, int))
  return tuple(sorted(steps))
