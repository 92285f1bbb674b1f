"""Tests for realm_tf.training.params_export."""

import os

import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.index import model_files
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from tests import model_dirs
from tests import tiny

_READER = {
  name: np.full(2, i, np.float32)
  for i, name in enumerate(('reader_bert/x', 'masked_lm/x', 'span_reader/x'))
}


class ParamsExportTest(tf.test.TestCase):
  def test_publishes_all_weights_as_a_version_that_never_changes(self):
    run_dir = self.create_tempdir().full_path
    model = tf.Module()
    model.kernel = tf.Variable([1.0, 2.0], name='tower/kernel')
    model.frozen = tf.Variable([3.0], name='tower/frozen', trainable=False)
    fingerprint = weights.fingerprint(weights.values(model.variables))
    version = params_export.publish(run_dir, 500, model)
    self.assertEqual(version.step, 500)
    model.kernel.assign([2.0, 2.0])
    params_export.publish(run_dir, 500, model)
    arrays = weights.read(layout.params_file(version.path))
    self.assertAllEqual(arrays['tower/kernel'], [1.0, 2.0])
    self.assertAllEqual(arrays['tower/frozen'], [3.0])
    self.assertEqual(
      versions.verify(version.path)['params_fingerprint'], fingerprint
    )


class UntrainedTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.init_from = self.create_tempdir().full_path
    config_files.write(tiny.config(), self.init_from)

  def _kept(self, **changes):
    model = tiny.changed(tiny.config().model, **changes)
    params_export.keep_untrained(
      self.run_dir, self.init_from, _READER, model=model
    )
    return sorted(params_export.read_untrained(self.run_dir))

  def test_keeps_the_reader_with_its_heads_where_shapes_agree(self):
    of_bert = {'dropout_rate': 0.5, 'activation': 'relu'}
    for changes, left_out in (
      ({}, []),
      ({'reader_bert': of_bert}, []),
      ({'span_hidden_size': 5}, ['span_reader/x']),
    ):
      self.assertEqual(self._kept(**changes), sorted({*_READER} - {*left_out}))
      np.testing.assert_array_equal(
        params_export.read_untrained(self.run_dir)['masked_lm/x'], [1, 1]
      )

  def test_a_reader_of_other_sizes_is_left_out_with_a_warning(self):
    self._kept()
    with self.assertLogs(level='WARNING') as logs:
      kept = self._kept(reader_bert={'num_layers': 2})
    self.assertEmpty(kept)
    self.assertIn(self.init_from, logs.output[0])


_AFTER = {
  'query_bert/a': np.float32([1, 2]),
  'reader_bert/a': np.float32([5]),
  realm_model.NULL_BIAS: np.float32(4),
}
_BEFORE = {
  'query_bert/a': np.float32([3, -2]),
  'reader_bert/a': np.float32([7]),
}


class WeightAverageTest(tf.test.TestCase):
  def test_embedders_are_averaged_and_the_reader_is_not(self):
    found = params_export.average(_AFTER, _BEFORE, 0.75, where='before')
    self.assertAllEqual(found['query_bert/a'], [1.5, 1.0])
    self.assertEqual(found['query_bert/a'].dtype, np.float32)
    self.assertAllEqual(found['reader_bert/a'], [5])
    self.assertEqual(found[realm_model.NULL_BIAS], 4)  # Learned in training.

  def test_scalars_that_both_have_stay_arrays(self):
    before = {**_BEFORE, realm_model.NULL_BIAS: np.float32(2)}
    found = params_export.average(_AFTER, before, 0.5, where='before')
    self.assertIsInstance(found[realm_model.NULL_BIAS], np.ndarray)
    self.assertEqual(found[realm_model.NULL_BIAS], 3)

  def test_other_embedders_are_refused(self):
    for name, value in (
      ('query_bert/a', np.float32([1, 2, 3])),
      ('query_bert/b', np.float32([1, 2])),
    ):
      with self.assertRaisesRegex(
        errors.UserError, 'query_bert/a .* elsewhere'
      ):
        params_export.average(_AFTER, {name: value}, 0.5, where='elsewhere')


class WriteTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.inputs = job_lib.open_inputs(
      tiny.config(), tiny.write_corpus(self.directory)
    )
    self.after = self._publish(
      'after', 5, realm_model.EMBEDDER, realm_model.MASKED_LM
    )
    self.before = self._publish('before', 0, realm_model.EMBEDDER)
    self.output = os.path.join(self.directory, 'average')

  def _write(self, after=None, before=None):
    return params_export.write_average(
      after or self.after, before or self.before, 0.5, output_dir=self.output
    )

  def _publish(self, name, step, *parts):
    path = os.path.join(self.directory, name)
    options = {'step': step, 'seed': step, 'noise': 1.0}
    model_dirs.write(path, self.inputs, parts, **options)
    return path

  def test_a_model_directory_of_the_same_step(self):
    self.assertEqual(self._write().step, 5)
    found, after, before = (
      model_files.open_model(path).read_params()
      for path in (self.output, self.after, self.before)
    )
    self.assertEqual(sorted(found), sorted(after))
    for name, value in found.items():
      if name.startswith(realm_model.EMBEDDER_PREFIXES):
        self.assertAllClose(value, (after[name] + before[name]) / 2)
      else:
        self.assertAllEqual(value, after[name])
    model_files.open_model(
      self.output, [realm_model.EMBEDDER, realm_model.MASKED_LM]
    )
    with self.assertRaisesRegex(errors.UserError, 'Found parameters'):
      self._write()  # Nothing is replaced.

  def test_a_model_without_embedders_is_refused(self):
    path = self._publish('reader', 0, realm_model.MASKED_LM)
    with self.assertRaisesRegex(errors.UserError, 'must have embedders'):
      self._write(path, path)
    self.assertFalse(os.path.exists(self.output))

  def test_another_vocabulary_is_refused(self):
    with open(layout.vocab_file(self.before), 'a') as file:
      file.write('g\n')
    with self.assertRaisesRegex(errors.UserError, 'one vocabulary'):
      self._write()


if __name__ == '__main__':
  tf.test.main()
