"""Keeps a run's best parameters, by exact match on development questions.

A resumed run reads the earlier measurements from their log.
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
  """Publishes parameters if their exact match is the run's highest so far."""

  def __init__(
    self,
    run_loop: loop.Loop,
    job: job_lib.Job,
    exact_match: Callable[[storage.Index], float],
    *,
    config: config_lib.FinetuningConfig,
  ):
    self._loop, self._config, self._exact_match = run_loop, config, exact_match
    self._is_chief = job.is_chief
    self._root = layout.params_root(job.run_dir)
    self._log = layout.dev_metrics_file(job.run_dir)
    if self._is_chief:
      metrics_log.cut(self._log, run_loop.step)
    self._scores = {  # By step.
      step: score
      for step, score in metrics_log.values(self._log, 'exact_match').items()
      if step <= run_loop.step
    }

  @property
  def best_step(self) -> int:
    """First step with the highest score; 0 without scores."""
    return max(self._scores, key=lambda step: self._scores[step], default=0)

  @property
  def is_over(self) -> bool:
    """Whether the last `patience` measurements brought no improvement."""
    since = sum(step > self.best_step for step in self._scores)
    return 0 < self._config.patience <= since

  def next_step(self, until: int) -> int:
    """Returns the next step to measure, at most `until`."""
    every = self._config.judge_every_steps
    return min(until, (self._loop.step // every + 1) * every)

  def measure_if_due(self, index: storage.Index) -> None:
    """Measures the current parameters if their step is due and new."""
    step, config = self._loop.step, self._config
    is_last = step == config.optimizer.num_steps
    if not step or step in self._scores:
      return
    if step % config.judge_every_steps == 0 or is_last:
      # The log's number of digits: a resumed run compares the same scores.
      score = self._scores[step] = round(self._exact_match(index), 6)
      logging.info('Exact match at step %d: %.2f.', step, score)
      self._keep(step, score)

  def restore_best(self, model: realm_model.RealmModel) -> None:
    """Loads the best parameters, the newest version, into the model."""
    newest = versions.newest(self._root)
    if newest and self.best_step != self._loop.step:
      model.load(model_files.read_params(newest))

  def _keep(self, step: int, score: float) -> None:
    """Publishes the parameters if they are the best; then logs the score."""
    if self.best_step == step:
      self._loop.publish()
      if self._is_chief:
        versions.prune(self._root, 1)
    if self._is_chief:
      metrics_log.append(self._log, step, {'exact_match': score})
