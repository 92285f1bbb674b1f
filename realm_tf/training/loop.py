"""Runs a trainer: batches ahead of the step, logs, checkpoints, preemption.

A checkpoint holds parameters, optimizer, step and skipped steps. Batches and
dropout are functions of seed and step, so a resumed run has the same losses as
an uninterrupted run.
"""

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent import futures
import contextlib
import functools
import itertools
import signal
from typing import Any, TypeVar

from absl import logging
import orbit
import tensorflow as tf
import tf_keras
import tqdm

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import process
from realm_tf.data import sampling
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import metrics_log
from realm_tf.run import versions
from realm_tf.training import job as job_lib
from realm_tf.training import optimizer as optimizer_lib
from realm_tf.training import step_trainer

# Steps whose loss or gradient is not finite are skipped. So many in a row end
# training.
MAX_SKIPPED_STEPS = 10
_DEPTH = 2  # Limit of prepared batches.
_Item = TypeVar('_Item')
_SHOWN = 'loss', 'accuracy', 'marginal_retrieval_utility', 'exact_match'


class Loop:
  """Makes a job's trainer and trains; `job.resume` reads the last checkpoint.

  Args:
    seed: Random seed of dropout.
    make_trainer: Optimizer -> trainer; called in the scope of the devices.
  """

  def __init__(
    self,
    job: job_lib.Job,
    config: config_lib.JobConfig | config_lib.InverseClozeConfig,
    seed: int,
    make_trainer: Callable[
      [tf_keras.optimizers.Optimizer], step_trainer.StepTrainer
    ],
  ):
    self._job, self._run_dir, self._config = job, job.run_dir, config
    with job.strategy.scope():
      trainer = make_trainer(optimizer_lib.create(config.optimizer))
      trainer.seed_dropout(seed)
    self.trainer: Any = trainer  # Of the job's own class.
    self.num_steps = config.optimizer.num_steps
    self._manager = tf.train.CheckpointManager(
      tf.train.Checkpoint(
        model=trainer.model,
        optimizer=trainer.optimizer,
        skipped=trainer.skipped,
      ),
      layout.checkpoint_dir(self._run_dir),
      max_to_keep=2,
    )
    if job.resume:
      if self._manager.restore_or_initialize() is None:
        logging.info('There is no checkpoint in %s yet.', self._run_dir)
      if job.is_chief:  # Cuts later rows off.
        metrics_log.cut(layout.metrics_file(self._run_dir), self.step)
    self._last_saved = self.step
    self._bar = tqdm.tqdm(
      total=self.num_steps,
      initial=self.step,
      unit='step',
      mininterval=1,
      disable=not job.is_chief,
    )
    # No checkpoints by the controller: in a resumed run their steps would be no
    # multiples, and every process would write them.
    self._controller = orbit.Controller(
      global_step=trainer.global_step,
      trainer=trainer,
      train_actions=[self._log_and_save],
      # Up to the next multiple of one of these, in resumed runs too.
      steps_per_loop=lambda step: min(
        every - step % every
        for every in (config.log_every_steps, config.checkpoint_every_steps)
      ),
      summary_dir=layout.summary_dir(self._run_dir) if job.is_chief else None,
    )

  @property
  def step(self) -> int:
    """Number of finished steps."""
    return int(self.trainer.global_step.numpy())

  @property
  def share(self) -> sampling.Share:
    """This process's share of each batch, from the current step on."""
    share = self._job.share(self._config.batch_size)
    return share._replace(first_step=self.step)

  def train(self, until: int, batches: Iterator[Mapping[str, Any]]) -> None:
    """Trains on batches of this process's `share` up to step `until`.

    Raises:
      Stopped: The process received a signal, and wrote a checkpoint.
      UserError: Too many steps in a row were not finite, or the disk is full.
    """
    self.trainer.train_dataset = batches
    with _asked_to_stop(self.trainer):
      try:
        self._controller.train(until)
      except (OSError, tf.errors.ResourceExhaustedError) as error:
        # TensorFlow raises the same error without free memory.
        if 'No space left' not in str(error):
          raise
        raise self._is_full(error) from error
      except step_trainer.StopRequested:
        self.save()
        raise errors.Stopped(
          f'A signal stopped training. Found a checkpoint saved at step '
          f'{self.step} in {self._run_dir}. Go on with --resume.'
        ) from None

  def periods(
    self, every: int, batches: Iterator[Mapping[str, Any]]
  ) -> Iterator[int]:
    """Trains from one multiple of `every` to the next; yields the step."""
    while self.step < self.num_steps:
      until = (self.step // every + 1) * every
      self.train(min(self.num_steps, until), batches)
      yield self.step

  def run(self, batches: Iterator[Mapping[str, Any]]) -> None:
    """Trains to the end and publishes the parameters."""
    self.train(self.num_steps, batches)
    self.publish()
    self.finish()

  def publish(self) -> versions.Version | None:
    """Publishes the current parameters, in the chief; others return None."""
    if not self._job.is_chief:
      return None
    return job_lib.publish(self._run_dir, self.step, self.trainer.model)

  def finish(self) -> None:
    """Saves the last state and marks the run as done.

    Every process logs its parameters' fingerprint, to compare the processes.
    """
    self.save()
    logging.info(
      'Done with step %d of %s, parameters %s.',
      self.step,
      self._run_dir,
      weights.fingerprint(weights.values(self.trainer.model.variables)),
    )
    if self._job.is_chief:
      with tf.io.gfile.GFile(layout.done_file(self._run_dir), 'w') as file:
        file.write('')

  def save(self) -> None:
    """Writes this step's checkpoint if there is none; UserError if it fails."""
    if not self._job.is_chief or self._last_saved == self.step > 0:
      return
    try:
      self._manager.save(checkpoint_number=self.step)
    except (OSError, tf.errors.OpError) as error:
      raise self._is_full(error) from error
    self._last_saved = self.step

  def _is_full(self, error: Exception) -> errors.UserError:
    return errors.UserError(
      f'The files of a run must fit on the disk. Found at step {self.step}: '
      f'{str(error).partition(chr(10))[0].rstrip(".")}. Make room in '
      f'{self._run_dir}, and continue with --resume from step '
      f'{self._last_saved}.'
    )

  def _log_and_save(self, output: Mapping[str, float]) -> None:
    step = self.step
    if self._job.is_chief:
      row = metrics_log.append(layout.metrics_file(self._run_dir), step, output)
      self._bar.update(step - self._bar.n)
      self._bar.set_postfix_str(
        ', '.join(f'{name} {row[name]:.3g}' for name in _SHOWN if name in row)
      )
    in_a_row = output['skipped_in_a_row']
    if in_a_row >= MAX_SKIPPED_STEPS:
      raise errors.UserError(
        f'Loss and gradients must be finite. Found {int(in_a_row)} steps in a '
        f'row up to step {step} with NaN or infinity, and skipped them. Lower '
        'optimizer.learning_rate, or look at the data, and go on with --resume.'
      )
    if step % self._config.checkpoint_every_steps == 0:
      self.save()


def prefetch(items: Iterator[_Item]) -> Iterator[_Item]:
  """Yields `items` in order; a thread prepares the next ones.

  An error of the iterator is raised here, at its place in the order.
  """
  end: Any = object()
  ahead = _ahead(itertools.repeat(functools.partial(next, items, end)))
  return itertools.takewhile(lambda item: item is not end, ahead)


def prefetch_between_steps(
  items: Iterator[_Item], begin: Callable[[_Item], Callable[[], Any]]
) -> Iterator[Any]:
  """Yields the results of `begin(item)()` in order, as prepared by threads.

  One thread makes the items, another waits for results; `begin` is called here,
  `_DEPTH` items ahead. So the programs that it starts on devices have the same
  place between the steps in every run and every process.
  """
  return _ahead(map(begin, prefetch(items)))


def _ahead(calls: Iterable[Callable[[], Any]]) -> Iterator[Any]:
  """Yields the results of calls, which a thread makes `_DEPTH` ahead."""
  with futures.ThreadPoolExecutor(1, 'batches') as pool:
    waiting: collections.deque[futures.Future] = collections.deque()
    try:
      for call in calls:
        waiting.append(pool.submit(call))
        if len(waiting) > _DEPTH:
          yield waiting.popleft().result()
      while waiting:
        yield waiting.popleft().result()
    finally:
      pool.shutdown(wait=False, cancel_futures=True)


def _asked_to_stop(
  trainer: step_trainer.StepTrainer,
) -> contextlib.AbstractContextManager[None]:
  """Lets SIGTERM and Ctrl-C request the end of training after a step."""

  def ask(signum: int, frame: object) -> None:
    del frame
    # A second signal ends the process at once.
    signal.signal(signum, signal.SIG_DFL)
    trainer.request_stop()

  return process.handling(ask, signal.SIGTERM, signal.SIGINT)
