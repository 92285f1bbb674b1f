"""Tests for realm_tf.training.finetuning.model_choice."""

import os

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import job
from realm_tf.training import params_export
from realm_tf.training.finetuning import model_choice
from tests import tiny


class _Model(tf.Module):
  def __init__(self):
    super().__init__()
    self.weight = tf.Variable(0.0, name='weight')

  def load(self, arrays):
    return weights.assign(self.variables, arrays)


class _Loop:
  """A loop with a weight that equals the step."""

  def __init__(self, run_dir, step=0):
    self.model, self.run_dir, self.step = _Model(), run_dir, step

  def train(self, until):
    self.step = until
    self.model.weight.assign(float(until))

  def publish(self):
    return params_export.publish(self.run_dir, self.step, self.model)


class ModelChoiceTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.judged = []

  def _run(self, scores, step=0, killed_after=None, **changes):
    """Runs to the end or to a stop, with scores by step."""
    config = tiny.changed(
      tiny.config().finetuning,
      optimizer=config_lib.OptimizerConfig(1e-2, 10),
      judge_every_steps=2,
      **changes,
    )
    run_loop = _Loop(self.run_dir, step)

    def judge(index):
      self.assertEqual(index, 'index')
      self.judged.append(run_loop.step)
      return scores[run_loop.step]

    choice = model_choice.ModelChoice(
      run_loop, job.Job(self.run_dir), judge, config=config
    )
    choice.measure_if_due('index')
    while not choice.is_over and run_loop.step not in (10, killed_after):
      run_loop.train(choice.next_step(10))
      choice.measure_if_due('index')
    return run_loop, choice

  def _rows(self):
    return tiny.read_rows(layout.dev_metrics_file(self.run_dir))

  def test_the_newest_parameters_are_the_best(self):
    run_loop, choice = self._run({2: 5.0, 4: 7.0, 6: 6.0, 8: 7.0, 10: 1.0})
    self.assertEqual(self.judged, [2, 4, 6, 8, 10])
    self.assertEqual(choice.best_step, 4)  # The first of two equal scores.
    self.assertEqual(run_loop.step, 10)
    root = layout.params_root(self.run_dir)
    self.assertEqual(
      os.listdir(root), [os.path.basename(versions.version_path(root, 4))]
    )
    choice.restore_best(run_loop.model)
    self.assertEqual(run_loop.model.weight.numpy(), 4.0)
    self.assertEqual(self._rows()[1], {'step': 4, 'exact_match': 7.0})

  def test_the_last_may_be_the_best(self):
    run_loop, choice = self._run({2: 1.0, 4: 2.0, 6: 3.0, 8: 4.0, 10: 5.0})
    self.assertEqual(choice.best_step, 10)
    choice.restore_best(run_loop.model)
    self.assertEqual(run_loop.model.weight.numpy(), 10.0)

  def test_stops_after_patience_measurements_without_improvement(self):
    scores = {2: 5.0, 4: 7.0, 6: 6.0, 8: 7.0, 10: 9.0}
    run_loop, choice = self._run(scores, patience=2)
    self.assertEqual((run_loop.step, choice.best_step), (8, 4))

  def test_a_resumed_run_measures_no_step_twice(self):
    scores = {2: 5.0, 4: 7.0, 6: 6.0, 8: 3.0, 10: 1.0}
    self._run(scores, killed_after=6)
    with open(layout.dev_metrics_file(self.run_dir), 'a') as file:
      file.write('{"step": 8, "exa')  # Killed while it wrote.
    run_loop, choice = self._run(scores, step=6)
    self.assertEqual(self.judged, [2, 4, 6, 8, 10])
    self.assertEqual(choice.best_step, 4)
    self.assertEqual([row['step'] for row in self._rows()], [2, 4, 6, 8, 10])
    choice.restore_best(run_loop.model)
    np.testing.assert_equal(run_loop.model.weight.numpy(), 4.0)

  def test_measurements_after_the_checkpoint_are_repeated(self):
    scores = {2: 5.0, 4: 7.0, 6: 8.0, 8: 3.0, 10: 1.0}
    self._run(scores, killed_after=6)
    run_loop, choice = self._run(scores, step=4)
    self.assertEqual(self.judged, [2, 4, 6, 6, 8, 10])
    self.assertEqual(choice.best_step, 6)
    self.assertEqual(run_loop.step, 10)


if __name__ == '__main__':
  absltest.main()
