"""Measures parameter versions with their indexes, and keeps the best version.

A resumed run reads held_out_metrics.jsonl, so it measures no version twice.
"""

import os
import time
from typing import Optional

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf.config import names
from realm_tf.index import model_files
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.rundir import layout
from realm_tf.rundir import listed_files
from realm_tf.rundir import manifests
from realm_tf.rundir import metrics_log
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from realm_tf.training import params_export
from realm_tf.training import runs
from realm_tf.training.pretraining import held_out_queries

_LOG_SECS = 60
# The last index may wait for the previous one, so it takes up to twice the time
# of one refresh. After three times this time, the refresher is considered dead.
_WAIT_FACTOR, _LEAST_WAIT_SECS = 3, 30.0


class HeldOutVersions:
  """Measures each version once.

  Args:
    model: Model in training; gets each version's parameters temporarily.
    until: Current step of the run; later rows of the log are removed.
    retriever: Replaces the indexes.
    metric: Metric of the best version; None keeps no best version.
  """

  def __init__(
    self,
    queries: held_out_queries.HeldOutQueries,
    model: realm_model.RealmModel,
    run_dir: str,
    *,
    until: int,
    retriever: Optional[retriever_lib.Retriever] = None,
    metric: Optional[str] = None,
  ):
    self._queries, self._model, self._metric = queries, model, metric
    self._run_dir, self._retriever = run_dir, retriever
    self._params_root = layout.params_root(run_dir)
    self._index_root = layout.index_root(run_dir)
    self._path = layout.held_out_file(run_dir)
    metrics_log.cut(self._path, until)

  def needed(self) -> list[int]:
    """Returns the steps of versions that must not be removed yet."""
    best = self._best()
    kept = [] if best is None else [best]
    return [*versions.steps(self._index_root), *kept]

  def measure_new(self) -> None:
    """Measures the versions whose index was published since the last call."""
    measured = metrics_log.values(self._path, names.HELD_OUT_METRICS[0])
    last = max(measured, default=-1)
    for step in versions.steps(self._params_root):
      # In order, because the report needs steps that increase.
      if step > last and self._is_ready(step):
        self._measure(versions.Version(step, self._params_path(step)))

  def wait_for(self, step: int) -> None:
    """Waits a limited time for the last version's index; then `measure_new`."""
    wait_secs = max(_LEAST_WAIT_SECS, _WAIT_FACTOR * self._refresh_secs())
    ends = time.monotonic() + wait_secs
    while not self._is_ready(step) and time.monotonic() < ends:
      logging.log_every_n_seconds(
        logging.INFO, 'Waiting for the index of step %d.', _LOG_SECS, step
      )
      time.sleep(0.2)
    if not self._is_ready(step):
      logging.warning(
        'No index of step %d came in %.0f s: it is not measured.',
        *(step, wait_secs),
      )
    self.measure_new()

  def publish_best(self, inputs: runs.Inputs) -> None:
    """Copies the best version, if any, to the model directory best/."""
    if self._metric is None:
      return
    best = self._best()
    if best is None:
      logging.warning('No version was measured: there is no best one.')
      return
    logging.info('The best version by %s has step %d.', self._metric, best)
    best_dir = layout.best_dir(self._run_dir)
    if tf.io.gfile.exists(best_dir):
      listed_files.remove_tree(best_dir)
    model_directory.create(best_dir, inputs.config, inputs.vocab_file)
    version = versions.Version(best, self._params_path(best))
    arrays = model_files.read_params(version)
    params_export.publish_arrays(best_dir, best, arrays)

  def _best(self) -> Optional[int]:
    """Returns the first step with the metric's highest value, if any.

    Only present versions count: after a resume, a good one may be missing.
    """
    if self._metric is None:
      return None
    scores = metrics_log.values(self._path, self._metric)
    present = [s for s in versions.steps(self._params_root) if s in scores]
    return max(present, key=lambda step: scores[step], default=None)

  def _params_path(self, step: int) -> str:
    return versions.version_path(self._params_root, step)

  def _index_path(self, step: int) -> str:
    return versions.version_path(self._index_root, step)

  def _refresh_secs(self) -> float:
    """Returns the shortest time from parameters to their index, in seconds."""
    # Longer times may include waiting for a refresher to start.
    secs = []
    for step in versions.steps(self._index_root):
      paths = self._params_path(step), self._index_path(step)
      if all(map(versions.is_complete, paths)):
        begin, end = (
          tf.io.gfile.stat(os.path.join(path, manifests.NAME)).mtime_nsec
          for path in paths
        )
        secs.append((end - begin) / 1e9)
    return min(secs, default=0.0)

  def _is_ready(self, step: int) -> bool:
    has_index = versions.is_complete(self._index_path(step))
    return has_index or self._retriever is not None

  def _measure(self, version: versions.Version) -> None:
    current = weights.values(self._model.variables)
    try:
      self._model.load(model_files.read_params(version))
      retriever = self._retriever or self._queries.index_layer(
        self._index_path(version.step)
      )
      means = self._queries.measure(retriever)
      metrics_log.append_held_out(self._run_dir, version.step, means)
    except (errors.UserError, OSError, tf.errors.OpError) as error:
      logging.warning('Version %d was not measured: %s', version.step, error)
    finally:
      weights.assign(self._model.variables, current)
