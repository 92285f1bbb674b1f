"""Outputs and gradients of transformers' REALM, and the comparison with ours.

tests/testdata/transformers_realm.json holds what transformers 4.57.6 computed,
in float64, of the weights and inputs of realm_weights.py
(`tests/parity/peer_realm.py` writes it).
"""

import json
import pathlib
from typing import Any, Optional

from absl import logging
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.exchange import hugging_face
from realm_tf.exchange import hugging_face_names
from realm_tf.model import realm_model
from realm_tf.model import weights
from tests.exchange import small_bert
from tests.parity import realm_weights

_FILE = (
  pathlib.Path(__file__).parent.parent / 'testdata' / 'transformers_realm.json'
)
# Largest difference, relative to an array's largest value.
_VALUES, _GRADIENTS = 1e-5, 1e-4
# Zero but for rounding: it adds the same to all that a softmax compares.
_CANCELS = (
  'key/bias',
  'block_embedder/layer_norm/beta',
  'span_reader/layer_norm/beta',
  'span_reader/score/bias',
)


def tokens(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
  """Returns our encoders' input of theirs."""
  return {
    'input_word_ids': arrays['input_ids'],
    'input_mask': arrays['attention_mask'],
    'input_type_ids': arrays['token_type_ids'],
  }


class PeerTestCase(tf.test.TestCase, parameterized.TestCase):
  """Compares with `expected`, and logs the largest differences."""

  def setUp(self):
    super().setUp()
    self.expected = {
      name: np.array(array['values'], array['dtype'])
      for name, array in json.loads(_FILE.read_text()).items()
    }

  def write_directory(self, architecture, values) -> str:
    """Writes a Hugging Face directory with these weights."""
    directory = self.create_tempdir().full_path
    config = {**realm_weights.CONFIG, 'architectures': [architecture]}
    small_bert.write(directory, config, values)
    return directory

  def import_model(self, architecture, values, part) -> realm_model.RealmModel:
    """Returns the model of a directory with these weights."""
    found = hugging_face.read(self.write_directory(architecture, values))
    model = realm_model.RealmModel(found.model, [part])
    self.assertEmpty(model.load(found.arrays).missing)
    return model

  def assert_same(self, part: str, ours: dict[str, Any]) -> None:
    """Compares arrays by their names; all but reals must be equal."""
    differences = {}
    for name, value in ours.items():
      theirs = self.expected[f'{part}.{name}']
      value = np.asarray(value)
      self.assertEqual(value.shape, theirs.shape, name)
      if theirs.dtype.kind == 'f':
        largest = np.abs(theirs).max()
        differences[name] = np.abs(value - theirs).max() / largest
      else:
        self.assertAllEqual(value, theirs, name)
    self._assert_small(part, differences, _VALUES)

  def assert_same_gradients(
    self,
    part: str,
    architecture: str,
    model: realm_model.RealmModel,
    tape: tf.GradientTape,
    goal: tf.Tensor,
    *,
    upstream: Optional[np.ndarray] = None,
  ) -> None:
    """Compares the gradients of all variables.

    Args:
      part: Part of `expected`.
      architecture: Their class, whose weights' names the gradients have.
      model: Model of the variables.
      tape: Tape that recorded `goal`.
      goal: Loss, or any tensor.
      upstream: Gradient of the loss with respect to `goal`.
    """
    begin = f'{part}.grad.'
    theirs, report = hugging_face_names.convert(
      {
        name.removeprefix(begin): value
        for name, value in self.expected.items()
        if name.startswith(begin)
      },
      model.config.reader_bert,
      hugging_face_names.ROLES[architecture],
    )
    self.assertEmpty(report.left_over)
    found = tape.gradient(
      goal, weights.by_name(model.variables), output_gradients=upstream
    )
    ours = {name: value for name, value in found.items() if value is not None}
    self.assertSameElements(ours, theirs)
    largest = max(np.abs(value).max() for value in theirs.values())
    differences = {}
    for name, value in theirs.items():
      scale = largest if name.endswith(_CANCELS) else np.abs(value).max()
      difference = tf.convert_to_tensor(ours[name]) - value
      differences[name] = np.abs(difference).max() / scale
    self._assert_small(f'{part}, gradients', differences, _GRADIENTS)

  def _assert_small(self, part, differences, limit):
    worst = max(differences, key=differences.get)
    logging.info(
      '%s: %d arrays, largest difference %.1e, in %s',
      *(part, len(differences), differences[worst], worst),
    )
    above = {name: d for name, d in differences.items() if not d <= limit}
    self.assertEmpty(above, part)
