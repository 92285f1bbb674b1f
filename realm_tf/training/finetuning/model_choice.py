"""Keeps the best of a run's parameters, and stops training early.

  exact match on development questions -> [this file] -> params/<best step>/

A resumed run reads the log of measurements, and so knows the best so far.
"""

from collections.abc import Callable

from absl import logging

from realm_tf import config as config_lib
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from realm_tf.rundir import layout
from realm_tf.rundir import metrics_log
from realm_tf.rundir import versions
from realm_tf.training import job as job_lib
from realm_tf.training import loop


class ModelChoice:
  """Publishes parameters that are better than all before.

  Args:
    exact_match: Measures the model with an index, in percent.
  """

  def __init__(
    self,
    run_loop: loop.Loop,
    job: job_lib.Job,
    exact_match: Callable[[storage.Index], float],
    *,
    config: config_lib.FinetuningConfig,
  ):
    self._loop, self._run_dir = run_loop, job.run_dir
    self._exact_match = exact_match
    self._config = config
    self._is_chief = job.is_chief
    self._path = layout.dev_metrics_file(job.run_dir)
    if self._is_chief:
      metrics_log.cut(self._path, run_loop.step)
    self._scores = {  # By step.
      step: score
      for step, score in metrics_log.values(self._path, 'exact_match').items()
      if step <= run_loop.step
    }

  @property
  def best_step(self) -> int:
    """First step with the highest score; 0 without any."""
    return max(self._scores, key=self._scores.get, default=0)

  def next_step(self, until: int) -> int:
    """Returns the next step to measure, or `until` if that comes first."""
    every = self._config.judge_every_steps
    return min(until, (self._loop.step // every + 1) * every)

  def must_stop(self, index: storage.Index) -> bool:
    """Measures the current parameters if they are due.

    Returns:
      Whether the last `patience` measurements were no improvement.
    """
    step, config = self._loop.step, self._config
    is_last = step == config.optimizer.num_steps
    is_due = step and (step % config.judge_every_steps == 0 or is_last)
    if is_due and step not in self._scores:
      self._measure(step, index)
    since = sum(other > self.best_step for other in self._scores)
    return 0 < config.patience <= since

  def restore_best(self, model: realm_model.RealmModel) -> None:
    """Gives the model the best parameters."""
    if self.best_step != self._loop.step:
      newest = versions.newest(layout.params_root(self._run_dir))
      model.load(model_files.read_params(newest))

  def _measure(self, step, index):
    # As many digits as the log has, so that a resumed run compares the same.
    score = self._scores[step] = round(self._exact_match(index), 6)
    logging.info('Exact match at step %d: %.2f.', step, score)
    if self.best_step == step:
      self._loop.publish()
      if self._is_chief:  # The newest is the best.
        versions.prune(layout.params_root(self._run_dir), 1)
    if self._is_chief:
      metrics_log.append(self._path, step, {'exact_match': score})
