"""Publishes a run's parameters, with those of --init_from it leaves as is.

  model, params/ of --init_from -> [this file] -> params/<step>/ of the run

ICT trains the embedders alone (Section 3.4); the reader and its heads are
published unchanged beside them. They are stored in untrained.safetensors when
the run begins, so that a resumed run has them whatever its flags are.
"""

from collections.abc import Mapping

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.config import config_files
from realm_tf.modeling import path_scorer
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions

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
  return publish_arrays(
    run_dir,
    step,
    {**read_untrained(run_dir), **weights.values(model.variables)},
  )


def publish_arrays(
  model_dir: str, step: int, arrays: Mapping[str, np.ndarray]
) -> versions.Version:
  """Writes params/<step>/ of a model directory with these weights."""
  return versions.publish(
    layout.params_root(model_dir),
    step,
    lambda path: weights.write_arrays(arrays, layout.params_file(path)),
    {'params_fingerprint': weights.fingerprint_arrays(arrays)},
  )


def keep_untrained(
  run_dir: str,
  init_from: str,
  left_over: Mapping[str, np.ndarray],
  *,
  model: config_lib.ModelConfig,
) -> None:
  """Stores the reader and its heads, to be published in every version.

  Args:
    init_from: Model directory that the run starts from.
    left_over: Weights of `init_from` that the job has no variables for.
    model: Config of the run. A reader of other sizes is left out, with a
      warning.
  """
  theirs = config_files.read(init_from).model
  prefixes = realm_model.READER_PREFIXES
  if theirs.span_hidden_size != model.span_hidden_size:
    prefixes = tuple(each for each in prefixes if each != 'span_reader/')
  arrays = {
    name: value
    for name, value in left_over.items()
    if name.startswith(prefixes)
  }
  if arrays and _sizes(theirs.reader_bert) != _sizes(model.reader_bert):
    logging.warning(
      'The reader of %s is left out: its sizes are not those of '
      '`model.reader_bert`.',
      init_from,
    )
    arrays = {}
  _store(run_dir, arrays)


def keep_paths(run_dir: str, left_over: Mapping[str, np.ndarray]) -> None:
  """Stores the scorer of paths; for jobs that do not train Embed_input."""
  names = [name for name in left_over if name.startswith(path_scorer.PREFIX)]
  _store(run_dir, {name: left_over[name] for name in names})


def _store(run_dir, arrays):
  forget_untrained(run_dir)
  if arrays:
    weights.write_arrays(arrays, layout.untrained_file(run_dir))
    logging.info('%d of the left over are published along.', len(arrays))


def forget_untrained(run_dir: str) -> None:
  """Removes the reader that an earlier run, which never began, stored."""
  if tf.io.gfile.exists(layout.untrained_file(run_dir)):
    tf.io.gfile.remove(layout.untrained_file(run_dir))


def read_untrained(run_dir: str) -> dict[str, np.ndarray]:
  """Returns the stored weights by name; {} in most runs."""
  path = layout.untrained_file(run_dir)
  return weights.read(path) if tf.io.gfile.exists(path) else {}


def _sizes(bert: config_lib.BertConfig) -> list[int]:
  return [getattr(bert, name) for name in _SIZES]
