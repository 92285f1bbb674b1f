"""Reads the arrays of transformers, loads the model, compares arrays."""

from collections.abc import Mapping
import os
import re
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.importing import hugging_face
from realm_tf.importing import hugging_face_names
from realm_tf.modeling import bert
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights

NO_SPAN = -1e9  # Scores at most this are of spans that do not exist.
# What adds the same to all that a softmax compares: a key's bias to attention,
# a block's shift to the scores of a query, the last biases to those of spans.
# The gradient is zero; what is computed is what rounding leaves of it.
_CANCELS = re.compile(
  '.*/self_attention/key/bias'
  '|block_embedder/layer_norm/beta'
  '|span_reader/(layer_norm/beta|score/bias)'
)


class Row(NamedTuple):
  """One array of theirs beside ours.

  Attributes:
    case: 'folder/file/array', or of a gradient 'folder/file/OUR_NAME'.
    difference: Largest, relative to their largest value.
    rounding: Whether it is a gradient that is zero but for rounding; then
      `difference` is relative to the largest gradient of the model.
  """

  case: str
  difference: float
  rounding: bool = False


def compare(case: str, ours: Any, theirs: Any) -> Row:
  """Compares one array; of numbers that are no reals any difference is 1."""
  ours, theirs = np.asarray(ours), np.asarray(theirs)
  if ours.shape != theirs.shape:
    raise ValueError(f'{case}: shapes {ours.shape} and {theirs.shape}.')
  if theirs.dtype.kind in 'biu':
    return Row(case, float((ours != theirs).any()))
  real = theirs > NO_SPAN
  if (real != (ours > NO_SPAN)).any():
    raise ValueError(f'{case}: spans exist here that do not exist there.')
  ours, theirs = ours[real].astype(np.float64), theirs[real]
  largest = np.abs(theirs).max()
  difference = np.abs(ours - theirs).max()
  return Row(case, float(difference / largest if largest else difference))


class Folder:
  """A folder of the peer's arrays.

  Args:
    root: Folder of all.
    name: Name of this folder.
  """

  def __init__(self, root: str, name: str):
    self.name = name
    self._root = root
    self.rows: list[Row] = []
    self._seen: set[tuple[str, str]] = set()

  def arrays(self, file: str) -> dict[str, np.ndarray]:
    """Returns the arrays of a file, by name."""
    path = os.path.join(self._root, self.name, f'{file}.npz')
    with np.load(path, allow_pickle=False) as arrays:
      return dict(arrays)

  def compare(self, file: str, ours: Mapping[str, Any]) -> None:
    """Adds a row for each array, and for the same in float64."""
    theirs = self.arrays(file)
    for own, value in ours.items():
      for name in (own, f'{own}__f64'):
        if name in theirs:
          self._seen.add((file, name))
          case = f'{self.name}/{file}/{name}'
          self.rows.append(compare(case, value, theirs[name]))

  def compare_gradients(self, file, ours, model, roles, how='') -> None:
    """Adds a row for each variable that has a gradient here or there.

    Args:
      file: File of the peer's gradients.
      ours: Result of `gradients`.
      model: A `RealmModel`.
      roles: See `hugging_face_names.convert`.
      how: Suffix of the cases' names.
    """
    theirs, report = hugging_face_names.convert(
      self.arrays(file), model.config.reader_bert, roles
    )
    if report.left_over:
      raise ValueError(f'{self.name}: no variable has {report.left_over}.')
    self._seen.update((file, name) for name in report.used)
    if sorted(ours) != sorted(theirs):
      raise ValueError(f'{self.name}: other variables have gradients.')
    largest = max(np.abs(value).max() for value in theirs.values())
    for name, value in sorted(theirs.items()):
      if ours[name].shape != value.shape:
        raise ValueError(f'{name}: shapes {ours[name].shape}, {value.shape}.')
      rounding = bool(_CANCELS.fullmatch(name))
      scale = largest if rounding else np.abs(value).max()
      difference = float(np.abs(ours[name] - value).max() / scale)
      case = f'{self.name}/{file}{how}/{name}'
      self.rows.append(Row(case, difference, rounding))

  def unseen(self) -> list[str]:
    """Returns the arrays that were compared with nothing."""
    files = sorted(os.listdir(os.path.join(self._root, self.name)))
    return [
      f'{self.name}/{file[:-4]}/{name}'
      for file in files
      if not file.startswith(('inputs', 'weights'))
      for name in self.arrays(file[:-4])
      if (file[:-4], name) not in self._seen
    ]


def gradients(tape, goal, model, upstream=None) -> dict[str, np.ndarray]:
  """Returns the gradients of `goal` by variable; none where it does not reach.

  Args:
    tape: Tape that recorded `goal`.
    goal: Loss, or any tensor.
    model: A `RealmModel`.
    upstream: Gradient of the loss with respect to `goal`.
  """
  named = weights.by_name(model.variables)
  found = tape.gradient(goal, list(named.values()), output_gradients=upstream)
  return {
    name: tf.convert_to_tensor(value).numpy()
    for name, value in zip(named, found)
    if value is not None
  }


def tokens(
  arrays: Mapping[str, np.ndarray], prefix: str = ''
) -> dict[str, np.ndarray]:
  """Returns the encoder's input dict."""
  return {
    ours: arrays[prefix + theirs].astype(np.int32)
    for ours, theirs in (
      ('input_word_ids', 'input_ids'),
      ('input_mask', 'attention_mask'),
      ('input_type_ids', 'token_type_ids'),
    )
  }


def load_model(
  config: config_lib.ModelConfig,
  parts: list[str],
  arrays: Mapping[str, np.ndarray],
) -> realm_model.RealmModel:
  """Returns a model that was filled to the last variable."""
  model = realm_model.RealmModel(config, parts)
  missing = model.load(dict(arrays)).missing
  if missing:
    raise ValueError(f'The importer must fill all. Missing: {missing}.')
  return model


def read_model(root: str, name: str, part: str) -> realm_model.RealmModel:
  """Returns the model of a directory below hugging_face/."""
  directory = os.path.join(root, 'hugging_face', name)
  found = hugging_face.read(directory)
  return load_model(found.model, [part], found.arrays)


def states(
  config: config_lib.BertConfig,
  arrays: Mapping[str, np.ndarray],
  tower: str,
  inputs: Mapping[str, np.ndarray],
  prefix: Optional[str] = '',
) -> dict[str, np.ndarray]:
  """Returns what an encoder says at all positions, by their names.

  Embedders compute [CLS] alone; so the whole encoder is made anew.
  """
  encoder = bert.build_encoder(config, f'{tower}_bert')
  weights.assign(encoder.variables, arrays)
  length = inputs['input_word_ids'].shape[-1]
  outputs = encoder(
    {name: value.reshape(-1, length) for name, value in inputs.items()}
  )
  return {
    f'{prefix}realm.last_hidden_state': outputs['sequence_output'],
    f'{prefix}realm.pooler_output': outputs['pooled_output'],
  }
