"""Tests for realm_tf.training.params_export."""

import dataclasses

import numpy as np
import tensorflow as tf

from realm_tf.config import config_files
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import params_export
from tests import tiny

_READER = {
  name: np.full(2, i, np.float32)
  for i, name in enumerate(('reader_bert/x', 'masked_lm/x', 'span_reader/x'))
}


class ParamsExportTest(tf.test.TestCase):
  def test_publishes_all_weights_as_a_version(self):
    run_dir = self.create_tempdir().full_path
    model = tf.Module()
    model.kernel = tf.Variable([1.0, 2.0], name='tower/kernel')
    model.frozen = tf.Variable([3.0], name='tower/frozen', trainable=False)

    version = params_export.publish(run_dir, 500, model)

    self.assertEqual(version, versions.newest(layout.params_root(run_dir)))
    self.assertEqual(version.step, 500)
    arrays = weights.read(layout.params_file(version.path))
    self.assertAllEqual(arrays['tower/kernel'], [1.0, 2.0])
    self.assertAllEqual(arrays['tower/frozen'], [3.0])
    self.assertEqual(
      versions.verify(version.path)['params_fingerprint'],
      weights.fingerprint(model.variables),
    )

  def test_a_version_never_changes(self):
    run_dir = self.create_tempdir().full_path
    model = tf.Module()
    model.kernel = tf.Variable([1.0], name='kernel')
    first = params_export.publish(run_dir, 0, model)
    model.kernel.assign([2.0])
    params_export.publish(run_dir, 0, model)
    arrays = weights.read(layout.params_file(first.path))
    self.assertAllEqual(arrays['kernel'], [1.0])


class UntrainedTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.init_from = self.create_tempdir().full_path
    self.model = tiny.config().model
    config_files.write(tiny.config(), self.init_from)

  def _kept(self, **changes):
    model = dataclasses.replace(self.model, **changes)
    params_export.keep_untrained(
      self.run_dir, self.init_from, _READER, model=model
    )
    return sorted(params_export.read_untrained(self.run_dir))

  def _reader_bert(self, **changes):
    return dataclasses.replace(self.model.reader_bert, **changes)

  def test_keeps_the_reader_with_its_heads(self):
    self.assertEqual(self._kept(), sorted(_READER))
    np.testing.assert_array_equal(
      params_export.read_untrained(self.run_dir)['masked_lm/x'], [1, 1]
    )

  def test_a_reader_of_other_sizes_is_left_out_with_a_warning(self):
    self._kept()
    with self.assertLogs(level='WARNING') as logs:
      kept = self._kept(reader_bert=self._reader_bert(num_layers=2))
    self.assertEmpty(kept)
    self.assertIn(self.init_from, logs.output[0])

  def test_only_sizes_that_decide_shapes_are_compared(self):
    reader_bert = self._reader_bert(dropout_rate=0.5, activation='relu')
    self.assertLen(self._kept(reader_bert=reader_bert), 3)

  def test_only_a_span_head_of_another_size_is_left_out(self):
    self.assertEqual(
      self._kept(span_hidden_size=5), ['masked_lm/x', 'reader_bert/x']
    )

  def test_forgets(self):
    self._kept()
    for _ in range(2):  # The second time there is nothing to remove.
      params_export.forget_untrained(self.run_dir)
      self.assertEmpty(params_export.read_untrained(self.run_dir))


if __name__ == '__main__':
  tf.test.main()
