"""What a job got from --init_from and does not train: it is published along.

  params/ of --init_from -> untrained.safetensors of the run -> its params/

The paper starts every network from one BERT, and ICT tunes the embedders alone
(Section 3.4): reader and head pass through the warm start as they are. The file
is there from the start, so that a resumed run has it whatever its flags are.
"""

from collections.abc import Mapping

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.config import config_files
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout

# What the shapes of an encoder's weights follow from.
_SIZES = (
  'vocab_size',
  'hidden_size',
  'num_layers',
  'num_heads',
  'intermediate_size',
  'max_positions',
)


def keep(
  run_dir: str,
  init_from: str,
  left_over: Mapping[str, np.ndarray],
  model: config_lib.ModelConfig,
) -> None:
  """Keeps the reader, with its heads, for all versions that a run publishes.

  Args:
    run_dir: Of the run.
    init_from: Model directory that it starts from.
    left_over: Weights in there that the job has no variables for.
    model: Of the run. A reader of other sizes is left out, with a warning.
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
  forget(run_dir)
  if arrays:
    weights.write_arrays(arrays, layout.untrained_file(run_dir))
    logging.info('%d of the left over are published along.', len(arrays))


def forget(run_dir: str) -> None:
  """Removes what an earlier run of this name, which never began, kept."""
  if tf.io.gfile.exists(layout.untrained_file(run_dir)):
    tf.io.gfile.remove(layout.untrained_file(run_dir))


def read(run_dir: str) -> dict[str, np.ndarray]:
  """Returns what is kept, by name; nothing in most runs."""
  path = layout.untrained_file(run_dir)
  return weights.read(path) if tf.io.gfile.exists(path) else {}


def _sizes(bert: config_lib.BertConfig) -> list[int]:
  return [getattr(bert, name) for name in _SIZES]
