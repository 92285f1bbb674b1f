"""Tests for realm_tf.training.runs."""

import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.rundir import layout
from realm_tf.training import job as job_lib
from realm_tf.training import params_export
from realm_tf.training import runs
from tests import tiny


class RunsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.run_dir = os.path.join(self.directory, 'run')
    self.inputs = runs.open_inputs(
      tiny.config(), tiny.write_corpus(self.directory)
    )

  def _begin(self, config=None, resume=False):
    job = job_lib.Job(self.run_dir, resume=resume)
    job.begin(config or self.inputs.config, self.inputs.vocab_file)

  def test_inputs_fit_the_config_to_the_vocabulary(self):
    model = self.inputs.config.model
    self.assertEqual(model.embedder_bert.vocab_size, 12)
    self.assertEqual(model.reader_bert.vocab_size, 12)
    self.assertEqual(self.inputs.special_ids, (2, 3))
    # [PAD], [UNK], [CLS], [SEP] and [MASK] are 0 to 4.
    self.assertAllEqual(self.inputs.ordinary_ids, range(5, 12))
    self.assertEqual(self.inputs.table.num_blocks, 4)

  def test_a_run_directory_is_new_unless_resumed(self):
    self._begin()
    self.assertEqual(config_files.read(self.run_dir), self.inputs.config)
    params_export.publish(self.run_dir, 0, tf.Module())
    done = layout.done_file(self.run_dir)
    with open(done, 'w') as file:
      file.write('')
    with self.assertRaisesRegex(errors.UserError, 'must be new'):
      self._begin()
    self.assertTrue(os.path.exists(done))
    self._begin(resume=True)
    # With the marker, the refresher would end during the resumed run.
    self.assertFalse(os.path.exists(done))

  def test_a_resumed_run_says_what_changed_in_the_config(self):
    self._begin()
    with self.assertLogs(level='WARNING') as logs:
      self._begin(tiny.changed(self.inputs.config, seed=7), resume=True)
    self.assertIn('seed is 7, was 0', logs.output[0])


if __name__ == '__main__':
  tf.test.main()
