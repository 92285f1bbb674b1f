"""Keeps the best of a run's parameters, and says when to stop.

  exact match on questions kept apart -> [this file] -> params/<best step>/

Its memory is the log of what was measured, so a resumed run goes on with the
best that it had.
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
from realm_tf.training import loop


class ModelChoice:
  """Publishes parameters that are better than all before.

  Args:
    run_loop: Of the run; says where it is and publishes.
    run_dir: Of the run.
    judge: Returns how well the model answers, with an index, in percent.
    config: When to judge, and when to stop.
    is_chief: Whether this process writes.
  """

  def __init__(
    self,
    run_loop: loop.Loop,
    run_dir: str,
    judge: Callable[[storage.Index], float],
    config: config_lib.FinetuningConfig,
    is_chief: bool,
  ):
    self._loop, self._run_dir, self._judge = run_loop, run_dir, judge
    self._config = config
    self._is_chief = is_chief
    self._path = layout.dev_metrics_file(run_dir)
    if is_chief:
      metrics_log.cut(self._path, run_loop.step)
    self._scores = {  # By step.
      step: score
      for step, score in metrics_log.values(self._path, 'exact_match').items()
      if step <= run_loop.step
    }

  @property
  def best_step(self) -> int:
    """The first of the best; 0 before the first judgement."""
    return max(self._scores, key=self._scores.get, default=0)

  def next_step(self, until: int) -> int:
    """Returns the next step that is judged, or `until` if that comes first."""
    every = self._config.judge_every_steps
    return min(until, (self._loop.step // every + 1) * every)

  def must_stop(self, index: storage.Index) -> bool:
    """Judges the current parameters if it is time, or the end.

    Args:
      index: To search.

    Returns:
      Whether nothing got better for too long.
    """
    step, config = self._loop.step, self._config
    is_last = step == config.optimizer.num_steps
    is_due = step and (step % config.judge_every_steps == 0 or is_last)
    if is_due and step not in self._scores:
      self._judge_now(step, index)
    since = sum(other > self.best_step for other in self._scores)
    return 0 < config.patience <= since

  def restore_best(self, model: realm_model.RealmModel) -> None:
    """Gives the model the best parameters."""
    if self.best_step != self._loop.step:
      newest = versions.newest(layout.params_root(self._run_dir))
      model.load(model_files.read_params(newest))

  def _judge_now(self, step, index):
    # As many digits as the log has, so that a resumed run compares the same.
    score = self._scores[step] = round(self._judge(index), 6)
    logging.info('Exact match at step %d: %.2f.', step, score)
    if self.best_step == step:
      self._loop.publish()
      if self._is_chief:  # What is newest is the best.
        versions.prune(layout.params_root(self._run_dir), 1)
    if self._is_chief:
      metrics_log.append(self._path, step, {'exact_match': score})
