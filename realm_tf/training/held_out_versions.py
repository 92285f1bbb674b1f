"""Measures parameter versions with their indexes, and remembers the best.

params/, index/ -> [this file] -> held_out_metrics.jsonl, TensorBoard, the best

The file is also the memory: a resumed run measures no version twice.
"""

from collections.abc import Mapping
import time
from typing import Optional

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import held_out_queries
from realm_tf.training import metrics_log
from realm_tf.training import model_choice
from realm_tf.training import pretraining_batches

_LOG_SECS = 60
_WAIT_SECS = 1800  # For the last index; then who refreshes is gone.


class HeldOutVersions:
  """How good each version was.

  Args:
    queries: What is measured.
    model: In training; has the version's parameters while it is measured.
    run_dir: Of the run.
    until: Step that the run is at; what was measured beyond it is forgotten.
    fixed_search: Stands for the indexes, if given.
  """

  def __init__(
    self,
    queries: held_out_queries.HeldOutQueries,
    model: realm_model.RealmModel,
    run_dir: str,
    until: int,
    fixed_search: Optional[pretraining_batches.Search] = None,
  ):
    self._queries, self._model = queries, model
    self._run_dir, self._fixed_search = run_dir, fixed_search
    self._path = layout.held_out_file(run_dir)
    metrics_log.cut(self._path, until)

  def best(self, metric: str) -> Optional[int]:
    """Returns the first step of the highest value; None if none has one."""
    scores = model_choice.read_scores(self._path, metric)
    return max(scores, key=scores.get, default=None)

  def measure_new(self) -> None:
    """Measures the versions that have an index now and had none before."""
    measured = model_choice.read_scores(self._path, held_out_queries.METRICS[0])
    params, indexes = (
      versions.steps(root)
      for root in (
        layout.params_root(self._run_dir),
        layout.index_root(self._run_dir),
      )
    )
    for step in (
      params if self._fixed_search else sorted({*params} & {*indexes})
    ):
      # In order: the report wants steps that increase.
      if step > max(measured, default=-1) and self._is_ready(step):
        self._measure(step)
        measured[step] = 0.0

  def wait_for(self, step: int) -> None:
    """Measures the last version; waits for its index, but not for ever."""
    ends = time.monotonic() + _WAIT_SECS
    while not self._is_ready(step) and time.monotonic() < ends:
      logging.log_every_n_seconds(
        logging.INFO, 'Waiting for the index of step %d.', _LOG_SECS, step
      )
      time.sleep(0.2)
    self.measure_new()

  def load(self, step: int) -> None:
    """Gives the model the parameters of a version."""
    root = layout.params_root(self._run_dir)
    path = versions.version_path(root, step)
    self._model.load(model_files.read_params(versions.Version(step, path)))

  def _is_ready(self, step):
    return self._fixed_search is not None or versions.is_complete(
      versions.version_path(layout.index_root(self._run_dir), step)
    )

  def _measure(self, step):
    current = {
      name: variable.numpy()
      for name, variable in weights.by_name(self._model.variables).items()
    }
    try:
      self.load(step)
      search = self._fixed_search or self._queries.index_search(
        versions.version_path(layout.index_root(self._run_dir), step)
      )
      self._write(step, self._queries.measure(search))
    except (errors.UserError, OSError, tf.errors.OpError) as error:
      logging.warning('Version %d was not measured: %s', step, error)
    finally:
      weights.assign(self._model.variables, current)

  def _write(self, step: int, means: Mapping[str, float]) -> None:
    logging.info('Held out, step %d: %s', step, means)
    metrics_log.append(self._path, {'step': step, **metrics_log.row(means)})
    writer = tf.summary.create_file_writer(layout.summary_dir(self._run_dir))
    with writer.as_default(step=step):
      for name, value in means.items():
        tf.summary.scalar(name, value)
    writer.close()
