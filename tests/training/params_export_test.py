"""Tests for realm_tf.training.params_export."""

import tensorflow as tf

from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import params_export


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


if __name__ == '__main__':
  tf.test.main()
