"""Ends a run in the middle, for tests of --resume."""

from collections.abc import Iterator
import contextlib
from unittest import mock

from absl.testing import absltest

from realm_tf.training import step_trainer


class _KilledError(Exception):
  pass


@contextlib.contextmanager
def at_step(
  test: absltest.TestCase, trainer: type[step_trainer.StepTrainer], step: int
) -> Iterator[None]:
  """Ends a run before `step`; fails if the run ends earlier."""
  train_step = trainer.train_step

  def killed(self, iterator):
    if int(self.global_step) == step:
      raise _KilledError
    train_step(self, iterator)

  with (
    mock.patch.object(trainer, 'train_step', killed),
    test.assertRaises(_KilledError),
  ):
    yield
