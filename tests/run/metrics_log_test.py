"""Tests for realm_tf.run.metrics_log."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.run import metrics_log


class MetricsLogTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'metrics.jsonl')

  def _read(self, text):
    pathlib.Path(self.path).write_bytes(text.encode('utf-8', 'surrogateescape'))
    return metrics_log.read(self.path)

  def test_numbers_by_step(self):
    rows = self._read(
      '{"step": 1, "loss": 3, "note": "x", "done": true}\n\n'
      '{"step": 2, "loss": NaN, "p_null": 0.5}\n'
    )
    self.assertEqual(rows[0], {'step': 1, 'loss': 3.0})
    self.assertEqual(list(rows[1]), ['step', 'loss', 'p_null'])
    self.assertTrue(np.isnan(rows[1]['loss']))

  @parameterized.parameters(
    '{"step": 2, "lo', '{"ste', '{"step": 2, "a": "\udcc3'
  )
  def test_an_incomplete_last_line_is_skipped(self, end):
    self.assertEqual(self._read('{"step": 1}\n' + end), [{'step': 1}])

  def test_a_resumed_run_removes_later_rows_and_half_a_line(self):
    self._read('{"step": 2, "a": 1}\n{"step": 4, "a": 2}\n{"ste')
    for step, values in ((4, {2: 1.0, 4: 2.0}), (3, {2: 1.0}), (1, {})):
      metrics_log.cut(self.path, step)
      self.assertEqual(metrics_log.values(self.path, 'a'), values)
    self.assertEqual(os.path.getsize(self.path), 0)

  @parameterized.parameters(
    '{"step": 2, "lo',
    '[1]',
    '{"loss": 1}',
    '{"step": 1.5}',
    '{"step": -1}',
    '\udcff',
  )
  def test_a_broken_line_is_named(self, line):
    with self.assertRaisesRegex(errors.UserError, r'metrics\.jsonl:2 must'):
      self._read(f'{{"step": 1}}\n{line}\n{{"step": 3}}\n')

  @parameterized.parameters('', '\n', '{"step"')
  def test_no_row_is_a_user_error(self, text):
    with self.assertRaisesRegex(errors.UserError, 'Wait for it'):
      self._read(text)


if __name__ == '__main__':
  absltest.main()
