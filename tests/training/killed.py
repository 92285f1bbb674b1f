"""Ends a run in the middle, for tests of --resume."""

from collections.abc import Callable
from unittest import mock

from absl.testing import absltest

from realm_tf.run import layout
from realm_tf.training import step_trainer
from tests import tiny

STEPS = 5  # Of the runs.
CHECKPOINT_EVERY = 2
_KILLED_AT = 3


class _KilledError(Exception):
  pass


def check_resume(
  test: absltest.TestCase,
  trainer: type[step_trainer.StepTrainer],
  run: Callable[[str, bool], str],
) -> None:
  """Fails unless a resumed run has the losses of an uninterrupted one.

  Args:
    run: (name, whether it is resumed) -> run directory. It logs all `STEPS`.
  """
  train_step = trainer.train_step

  def killed(self, iterator):
    if int(self.global_step) == _KILLED_AT:
      raise _KilledError
    train_step(self, iterator)

  with tiny.eagerly():
    whole = run('whole', False)
    with (
      mock.patch.object(trainer, 'train_step', killed),
      test.assertRaises(_KilledError),
    ):
      run('killed', False)
    resumed = run('killed', True)
  losses, expected = (
    [row['loss'] for row in tiny.read_rows(layout.metrics_file(run_dir))]
    for run_dir in (resumed, whole)
  )
  test.assertEqual(losses, expected)
  test.assertLen(losses, STEPS)
