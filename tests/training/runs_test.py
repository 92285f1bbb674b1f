"""Tests for realm_tf.training.runs."""

import json
import os

import numpy as np
import tensorflow as tf
import tf_keras

from realm_tf import config_io
from realm_tf import errors
from realm_tf.modeling import realm_model
from realm_tf.rundir import layout
from realm_tf.training import params_export
from realm_tf.training import runs
from realm_tf.training import step_trainer
from tests import tiny


class _Trainer(step_trainer.StepTrainer):
  """Adds 1 to its weight at every step."""

  def __init__(self):
    self.model = tf.Module()
    self.model.weight = tf.Variable(0.0, name='weight')
    batches = iter(lambda: {'x': np.zeros([1], np.float32)}, None)
    super().__init__(
      batches, tf_keras.optimizers.legacy.SGD(1.0), [self.model.weight]
    )

  def loss_and_logs(self, batch):
    return -self.model.weight, {}


class RunsTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.run_dir = os.path.join(self.directory, 'run')
    self.inputs = runs.open_inputs(
      tiny.config(), tiny.write_corpus(self.directory)
    )

  def _model(self):
    return realm_model.RealmModel(
      self.inputs.config.model, [realm_model.EMBEDDER]
    )

  def test_inputs_fit_the_config_to_the_vocabulary(self):
    model = self.inputs.config.model
    self.assertEqual(model.embedder_bert.vocab_size, 12)
    self.assertEqual(model.reader_bert.vocab_size, 12)
    self.assertEqual(self.inputs.special_ids, (2, 3))
    # [PAD], [UNK], [CLS], [SEP] and [MASK] are 0 to 4.
    self.assertAllEqual(self.inputs.ordinary_ids, range(5, 12))
    self.assertEqual(self.inputs.table.num_blocks, 4)

  def test_a_run_starts_from_the_parameters_of_another(self):
    runs.start(self.run_dir, self.inputs, resume=False)
    first, second = self._model(), self._model()
    params_export.publish(self.run_dir, 3, first)
    runs.initialize(second, self.inputs, self.run_dir)
    for a, b in zip(first.variables, second.variables, strict=True):
      self.assertAllEqual(a, b)

  def test_init_from_wants_parameters_and_the_same_vocabulary(self):
    with self.assertRaisesRegex(errors.UserError, 'model directory'):
      runs.initialize(self._model(), self.inputs, self.directory)
    runs.start(self.run_dir, self.inputs, resume=False)
    params_export.publish(self.run_dir, 0, self._model())
    with open(layout.vocab_file(self.run_dir), 'a') as file:
      file.write('g\n')
    with self.assertRaisesRegex(errors.UserError, 'share one vocabulary'):
      runs.initialize(self._model(), self.inputs, self.run_dir)

  def test_a_run_directory_is_new_unless_resumed(self):
    runs.start(self.run_dir, self.inputs, resume=False)
    self.assertEqual(config_io.read(self.run_dir), self.inputs.config)
    params_export.publish(self.run_dir, 0, self._model())
    runs.finish(self.run_dir)
    with self.assertRaisesRegex(errors.UserError, 'must be new'):
      runs.start(self.run_dir, self.inputs, resume=False)
    self.assertTrue(os.path.exists(layout.done_file(self.run_dir)))
    runs.start(self.run_dir, self.inputs, resume=True)
    # The refresher must not end while the resumed run goes on.
    self.assertFalse(os.path.exists(layout.done_file(self.run_dir)))

  def test_a_checkpoint_holds_weights_and_step(self):
    trainer = _Trainer()
    manager = runs.checkpoint_manager(trainer, trainer.model, self.run_dir, 2)
    runs.controller(trainer, self.run_dir, 4, 1, manager).train(
      4, checkpoint_at_completion=False
    )
    resumed = _Trainer()
    runs.checkpoint_manager(
      resumed, resumed.model, self.run_dir, 2
    ).restore_or_initialize()
    # Written after the first loop, and then every 2 steps: at 1 and 3.
    self.assertEqual(int(resumed.global_step), 3)
    self.assertAllClose(resumed.model.weight, 3.0)

  def test_logs_a_json_line_a_loop(self):
    trainer = _Trainer()
    runs.controller(trainer, self.run_dir, 4, 2).train(4)
    with open(layout.metrics_file(self.run_dir)) as file:
      rows = [json.loads(line) for line in file]
    self.assertEqual([row['step'] for row in rows], [2, 4])
    # The loss is minus the weight: 0, -1, then -2, -3.
    self.assertEqual([row['loss'] for row in rows], [-0.5, -2.5])


if __name__ == '__main__':
  tf.test.main()
