"""Tests for realm_tf.qa.calibration."""

import json
import math
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf
import tensorflow.experimental.numpy as tnp

from realm_tf import errors
from realm_tf.qa import answer_choice
from realm_tf.qa import calibration

_FITTED = calibration.Calibration(0.5, 2.0, -1.0, -3.0, threshold=0.4)
_SETTING = {
  'retriever': 'model',
  'sparse_weight': 0.5,
  'num_read': 5,
  'answer_by': 'span',
  'reader': '',
}


def _signals(share, null, unread, xp=np):
  """Returns the signals of one question that was read in two blocks.

  Args:
    share: Share of the answer's text in the softmax over spans.
    null: exp of the log-odds of the null spans.
    unread: Share of the blocks that were not read.
  """
  with np.errstate(divide='ignore'):
    sums = np.log(np.array([share], np.float32))
    logs = np.log(np.array([[[0.25, 0.75]], [[null / 4, null * 3 / 4]]]))
  everything, nulls = map(xp.asarray, logs.astype(np.float32))
  sums = xp.asarray(sums)
  choice = answer_choice.Choice(None, None, None, None, sums)
  spans = answer_choice.Spans(None, None, None, everything, nulls)
  unread = xp.asarray(np.array([unread], np.float32))
  return calibration.signals(choice, spans, unread, xp)


@parameterized.named_parameters(('numpy', np), ('graph', tnp))
class ProbabilityTest(parameterized.TestCase):
  def test_raw_is_a_product_with_null_spans_or_blocks_not_read(self, xp):
    # The null spans: 1 to 2, or 1/3.
    signals = _signals(3 / 4, 1 / 2, 1 / 5, xp)
    expected = [math.log(3), math.log(1 / 2), 1 / 5]
    np.testing.assert_allclose(np.ravel(signals), expected, rtol=1e-5)
    found = calibration.Confidence().probability(signals, xp)
    np.testing.assert_allclose(found, [3 / 4 * 2 / 3], rtol=1e-5)
    found = calibration.Confidence().probability(
      _signals(3 / 4, 0.0, 1 / 5, xp), xp
    )
    np.testing.assert_allclose(found, [3 / 4 * 4 / 5], rtol=1e-5)

  def test_calibrated_is_a_logistic_regression(self, xp):
    signals = _signals(3 / 4, 1 / 2, 1 / 5, xp)
    score = 0.5 + 2 * math.log(3) + math.log(2) - 3 / 5
    found = calibration.Confidence(_FITTED).probability(signals, xp)
    np.testing.assert_allclose(found, [1 / (1 + math.exp(-score))], rtol=1e-5)

  def test_the_threshold_given_or_fitted_or_the_null_spans_refuse(self, xp):
    probability, null = (
      xp.asarray(np.array(each, np.float32))
      for each in ([0.39, 0.41, 0.8], [1.1, 0.0, 1.09])
    )
    for given, expected in (
      (calibration.Confidence(_FITTED), [True, False, False]),
      (calibration.Confidence(_FITTED, 0.5), [True, True, False]),
      (calibration.Confidence(), [True, False, False]),  # log 3 is 1.0986.
    ):
      found = given.refuses(probability, null)
      self.assertEqual(np.asarray(found).tolist(), expected)

  def test_certain_and_missing_signals_are_finite(self, xp):
    for case in ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)):
      signals = _signals(*case, xp)
      self.assertTrue(np.isfinite(np.ravel(signals)).all(), case)
    certain = _signals(1.0, 0.0, 0.0, xp)
    certain = calibration.Confidence().probability(certain, xp)
    np.testing.assert_allclose(certain, [1.0], atol=1e-5)


class FileTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def test_is_read_for_its_own_setting_only(self):
    self.assertIsNone(calibration.read(self.folder, _SETTING))
    calibration.write(_FITTED, _SETTING, self.folder)
    self.assertEqual(calibration.read(self.folder, _SETTING), _FITTED)
    other = {**_SETTING, 'sparse_weight': 1.0}
    self.assertIsNone(calibration.read(self.folder, other))

  def test_a_file_without_a_reader_is_for_the_models_own(self):
    calibration.write(_FITTED, _SETTING, self.folder)
    path = os.path.join(self.folder, calibration.NAME)
    with open(path) as file:
      written = json.load(file)
    del written['setting']['reader']
    with open(path, 'w') as file:
      json.dump(written, file)
    self.assertEqual(calibration.read(self.folder, _SETTING), _FITTED)
    other = {**_SETTING, 'reader': '1'}
    self.assertIsNone(calibration.read(self.folder, other))

  def test_a_damaged_file_is_a_user_error(self):
    path = os.path.join(self.folder, calibration.NAME)
    for content in ('{', '{}', json.dumps({'setting': _SETTING})):
      with open(path, 'w') as file:
        file.write(content)
      with self.assertRaisesRegex(errors.UserError, 'bin.calibrate'):
        calibration.read(self.folder, _SETTING)


if __name__ == '__main__':
  tf.test.main()
