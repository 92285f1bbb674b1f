"""The first parameters of a job: of one model directory, or joined from two.

  --init_from, --reader_init_from -> [this file] -> model's variables

The paper starts every network from one BERT. The embedders of a warm start and
the reader of another model are joined here by their names.
"""

from typing import NamedTuple, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.training import runs


class InitFrom(NamedTuple):
  """Model directories that a job starts from; None is random weights.

  Attributes:
    model_dir: Whose parameters are used as far as they fit.
    reader_dir: Whose reader, with the heads it has, is used instead.
  """

  model_dir: Optional[str] = None
  reader_dir: Optional[str] = None


NOTHING = InitFrom()


def load(
  model: realm_model.RealmModel, inputs: runs.Inputs, init_from: InitFrom
) -> dict[str, np.ndarray]:
  """Loads the newest parameters of model directories, as far as they fit.

  Returns:
    What the model has no variables for, by name.

  Raises:
    UserError: One is no model directory, has another vocabulary, or no whole
      reader where that is wanted.
  """
  arrays = {}
  if init_from.model_dir:
    arrays = model_files.read(init_from.model_dir, inputs.table.manifest)[2]
  if init_from.reader_dir:
    arrays = _with_reader(arrays, init_from.reader_dir, inputs)
  if not arrays:
    return {}
  report = model.load(arrays)
  if init_from.reader_dir:
    # A pooler is often dropped from a BERT, and no reader uses it.
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


def _with_reader(arrays, reader_dir, inputs):
  """Returns `arrays` with the reader of `reader_dir` instead of their own."""
  found = model_files.read(reader_dir, inputs.table.manifest)[2]
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
