"""The loop around a trainer: logs, checkpoints, preemption, profile.

  trainer -> [this file] -> checkpoints/, metrics.jsonl, summaries/ of a run

A checkpoint is parameters, optimizer, step and skipped steps. Batches and
dropout are functions of seed and step, so a resumed run is the run that was
never interrupted. Composition with orbit.
"""

from collections.abc import Iterator
import contextlib
import signal

from absl import logging
import orbit
import tensorflow as tf
import tqdm

from realm_tf import errors
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import metrics_log
from realm_tf.training import params_export
from realm_tf.training import profile
from realm_tf.training import setup as setup_lib
from realm_tf.training import step_trainer


class Loop:
  """Trains from where the last checkpoint left off.

  Attributes:
    trainer: Given.

  Args:
    trainer: Its model is in the checkpoints.
    run_dir: Of the job.
    pace: Of the job.
    setup: Of the process.
  """

  def __init__(
    self,
    trainer: step_trainer.StepTrainer,
    run_dir: str,
    pace: setup_lib.Pace,
    setup: setup_lib.Setup = setup_lib.ALONE,
  ):
    self.trainer = trainer
    self._run_dir = run_dir
    self._pace = pace
    self._is_chief = setup.is_chief
    self._manager = tf.train.CheckpointManager(
      tf.train.Checkpoint(
        model=trainer.model,
        optimizer=trainer.optimizer,
        skipped=trainer.skipped,
      ),
      layout.checkpoint_dir(run_dir),
      max_to_keep=2,
      step_counter=trainer.global_step,
    )
    if setup.resume:
      self._restore()
    self._last_saved = self.step
    self._bar = tqdm.tqdm(
      total=pace.num_steps,
      initial=self.step,
      unit='step',
      mininterval=1,
      disable=not self._is_chief,
    )
    self._controller = orbit.Controller(
      global_step=trainer.global_step,
      trainer=trainer,
      train_actions=[self._log],
      steps_per_loop=pace.log_every_steps,
      summary_dir=layout.summary_dir(run_dir) if self._is_chief else None,
    )
    if setup.profile_steps and self._is_chief:
      trainer.before_steps.append(
        profile.Profile(*setup.profile_steps, layout.summary_dir(run_dir))
      )

  @property
  def step(self) -> int:
    """Steps that are done."""
    return int(self.trainer.global_step.numpy())

  def train(self, until: int) -> None:
    """Trains until so many steps are done, with a checkpoint now and then.

    Raises:
      Stopped: The process was asked to end; there is a checkpoint.
      UserError: Too many steps were not finite, or the disk is full.
    """
    pace = self._pace
    with _asked_to_stop(self.trainer):
      try:
        while self.step < until:
          # The same rows of the log and the same checkpoints, wherever a run
          # was interrupted.
          ends = (
            (self.step // every + 1) * every
            for every in (pace.log_every_steps, pace.checkpoint_every_steps)
          )
          self._controller.train(min(until, *ends))
          if self.step % pace.checkpoint_every_steps == 0:
            self.save()
      except (OSError, tf.errors.ResourceExhaustedError) as error:
        # Its name is also that of too little memory, which is not meant here.
        if 'No space left' not in str(error):
          raise
        raise self._is_full(error) from error
      except step_trainer.StopRequested:
        self.save()
        raise errors.Stopped(
          f'Training was asked to stop. Found a checkpoint saved at step '
          f'{self.step} in {self._run_dir}. Go on with --resume.'
        ) from None

  def run(self) -> None:
    """Trains to the end and publishes the parameters."""
    self.train(self._pace.num_steps)
    self.publish()
    self.finish()

  def publish(self) -> versions.Version | None:
    """Publishes the current parameters; returns None if not the chief."""
    if not self._is_chief:
      return None
    return params_export.publish(self._run_dir, self.step, self.trainer.model)

  def finish(self) -> None:
    """Keeps the last state, and says that nothing more will be published.

    Every process logs what its parameters are: all must have the same.
    """
    self.save()
    logging.info(
      'Done with step %d of %s, parameters %s.',
      self.step,
      self._run_dir,
      weights.fingerprint(self.trainer.model.variables),
    )
    if self._is_chief:
      with tf.io.gfile.GFile(layout.done_file(self._run_dir), 'w') as file:
        file.write('')

  def save(self) -> None:
    """Writes a checkpoint, unless there is one of this step.

    Raises:
      UserError: It could not be written; those before are as they were.
    """
    if not self._is_chief or self._last_saved == self.step > 0:
      return
    try:
      self._manager.save(checkpoint_number=self.step)
    except (OSError, tf.errors.OpError) as error:
      raise self._is_full(error) from error
    self._last_saved = self.step

  def _is_full(self, error):
    return errors.UserError(
      f'What a run writes must fit on the disk. Found at step {self.step}: '
      f'{_first_line(error)}. Make room in {self._run_dir}, and go on with '
      f'--resume from step {self._last_saved}.'
    )

  def _restore(self):
    """Reads the last checkpoint, if there is any; forgets logs from beyond."""
    if self._manager.restore_or_initialize() is None:
      logging.info('There is no checkpoint in %s yet.', self._run_dir)
    if self._is_chief:
      metrics_log.cut(layout.metrics_file(self._run_dir), self.step)

  def _log(self, output):
    step = self.step
    if self._is_chief:
      row = metrics_log.row(output)
      metrics_log.append(
        layout.metrics_file(self._run_dir), {'step': step, **row}
      )
      self._bar.update(step - self._bar.n)
      self._bar.set_postfix_str(metrics_log.short(row))
    in_a_row, limit = output['skipped_in_a_row'], self._pace.max_skipped_steps
    if limit and in_a_row >= limit:
      raise errors.UserError(
        f'Loss and gradients must be finite. Found {int(in_a_row)} steps in a '
        f'row up to step {step} that are not, and changed no parameter. '
        'Lower optimizer.learning_rate or gradient_clip_norm, or look at the '
        'data, and go on with --resume.'
      )


@contextlib.contextmanager
def _asked_to_stop(trainer: step_trainer.StepTrainer) -> Iterator[None]:
  """Within it, SIGTERM and the first Ctrl-C end training after a step."""

  def ask(signum, frame):
    del frame
    # The next one of its kind ends the process as ever.
    signal.signal(signum, before[signum])
    trainer.request_stop()

  before = {}
  try:
    for signum in (signal.SIGTERM, signal.SIGINT):
      before[signum] = signal.signal(signum, ask)
  except ValueError:  # Only the main thread is told of signals.
    pass
  try:
    yield
  finally:
    for signum, handler in before.items():
      signal.signal(signum, handler)


def _first_line(error: Exception) -> str:
  return (str(error).splitlines() or [''])[0].rstrip('.') or type(
    error
  ).__name__
