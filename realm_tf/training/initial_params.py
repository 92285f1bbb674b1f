"""Initializes a job's model from one model directory, or from two.

The second directory gives the reader, to combine the embedders of a warm start
with the reader of another model.
"""

from typing import NamedTuple, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.training import runs


class InitFrom(NamedTuple):
  """Model directories that a job starts from; None means random weights."""

  model_dir: Optional[str] = None  # Gives all parameters that fit.
  reader_dir: Optional[str] = None  # Gives the reader and its heads instead.


NOTHING = InitFrom()


def load(
  model: realm_model.RealmModel, inputs: runs.Inputs, init_from: InitFrom
) -> dict[str, np.ndarray]:
  """Loads the newest parameters that fit; returns the other weights by name.

  Raises:
    UserError: A directory is no model directory or has another vocabulary, or
      `reader_dir` lacks a complete reader.
  """
  arrays: dict[str, np.ndarray] = {}
  if init_from.model_dir:
    arrays = _read(init_from.model_dir, inputs)
  if init_from.reader_dir:
    arrays = _with_reader(arrays, init_from.reader_dir, inputs)
  if not arrays:
    return {}
  report = model.load(arrays)
  if init_from.reader_dir:
    # Many BERTs come without a pooler, and no reader uses it.
    lacking = [
      name
      for name in report.missing
      if name.startswith('reader_') and '/pooler_transform/' not in name
    ]
    realm_model.require_parts(
      report._replace(missing=lacking), init_from.reader_dir
    )
  logging.info(
    'From %s: %d variables used; new: %s; left over: %s.',
    ' and '.join(filter(None, init_from)),
    len(report.used),
    report.missing,
    report.left_over,
  )
  return {name: arrays[name] for name in report.left_over}


def _read(model_dir: str, inputs: runs.Inputs) -> dict[str, np.ndarray]:
  return model_files.open_model(model_dir, table=inputs.table).read_params()


def _with_reader(
  arrays: dict[str, np.ndarray], reader_dir: str, inputs: runs.Inputs
) -> dict[str, np.ndarray]:
  """Returns `arrays` with their reader replaced by the one in `reader_dir`."""
  found = _read(reader_dir, inputs)
  if not realm_model.has_reader(found):
    raise errors.UserError(
      f'--reader_init_from must hold a model with a reader. Found none in '
      f'{reader_dir}. Give an imported BERT, or a --run_dir of bin.pretrain or '
      'bin.finetune.'
    )
  is_reader = lambda name: name.startswith(realm_model.READER_PREFIXES)
  return {
    **{name: arrays[name] for name in arrays if not is_reader(name)},
    **{name: found[name] for name in found if is_reader(name)},
  }
