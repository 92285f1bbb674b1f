"""Measures parameter versions with their indexes, and keeps the best version.

A resumed run reads held_out_metrics.jsonl, so it measures no version twice.
"""

import collections
import os
import time

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.config import names
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import objectives
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import metrics_log
from realm_tf.run import versions
from realm_tf.training import job as job_lib
from realm_tf.training import pretraining_batches
from realm_tf.training import pretraining_trainer

# One shape for every batch, to trace once.
_FIXED = sampling.Share(has_fixed_shapes=True)
_LOG_SECS = 60
# The last index may wait for the previous one, so it takes up to twice the time
# of one refresh. After three times this time, the refresher is considered dead.
_WAIT_FACTOR, _LEAST_WAIT_SECS = 3, 30.0


class HeldOutQueries:
  """A fixed set of masked queries, and metrics of the model on them."""

  def __init__(
    self,
    inputs: job_lib.Inputs,
    queries: query_table.QueryTable,
    rows: np.ndarray,
    *,
    trainer: pretraining_trainer.PretrainingTrainer,
  ):
    self._inputs, self._number = inputs, len(rows)
    config, lengths = inputs.config, inputs.config.lengths
    how = masking.of_config(config, inputs.tokenizer.mask_id)
    rng = sampling.step_rng(config.seed, 0)
    self._masked = masking.mask_batch(queries, rows, how, rng)
    self._score = tf.function(trainer.score, autograph=False)
    self._embed = embedding.compile_queries(
      trainer.model, lengths.query_tokens, inputs.tokenizer.special_ids
    )

  def index_layer(self, version_path: str) -> retrievers.RetrievalLayer:
    """Returns a search of an index with the model's current parameters.

    Loads the index again: training's own copy serves the prepared batches.
    """
    corpus = self._inputs.table.manifest['corpus_fingerprint']
    index = storage.load(version_path, corpus)
    return retrievers.RetrievalLayer(self._embed, index.searcher)

  def measure(self, retriever: interfaces.Retriever) -> dict[str, float]:
    """Returns each metric's mean over the queries, by name."""
    size, number = self._inputs.config.pretraining.batch_size, self._number
    values = collections.defaultdict(list)
    for start in range(0, number, size):
      # The first rows fill the last batch up.
      chosen = np.arange(start, start + size) % number
      batch = {name: each[chosen] for name, each in self._masked.items()}
      for name, each in self._measure(batch, retriever).items():
        values[name].extend(each)
    return {
      name: float(np.mean(each[:number])) for name, each in values.items()
    }

  def _measure(
    self, batch: dict[str, np.ndarray], retriever: interfaces.Retriever
  ) -> dict[str, np.ndarray]:
    """Returns each metric for the queries of a batch, [B]."""
    table, config = self._inputs.table, self._inputs.config
    depth = names.HELD_OUT_RANKS[-1]
    hits = retriever.retrieve(
      retriever_lib.masked(batch['query_ids'], self._inputs.tokenizer),
      max(config.pretraining.num_candidates, depth) + candidates.SPARE_HITS,
    ).block_ids
    _, has_span = candidates.find_spans(
      hits, batch, table, depth, config.lengths.block_tokens
    )
    recalls = {
      f'held_out_recall@{rank}': has_span[:, :rank].any(axis=1)
      for rank in names.HELD_OUT_RANKS
    }
    chosen = pretraining_batches.choose(hits, batch, table, experiment=config)
    blocks = pretraining_batches.with_blocks(
      chosen, table, config.lengths, share=_FIXED
    )
    tensors = {
      name: tf.constant(each)
      for name, each in {**batch, **blocks}.items()
      if name != 'own_block'
    }
    scores, log_p = self._score(tensors)
    mask = tensors['token_mask']
    log_p_y = objectives.marginal_log_likelihood(scores, log_p, mask)
    result = {'held_out_log_likelihood': log_p_y.numpy()}
    if config.pretraining.candidates != 'recurring_span':  # With a null block.
      utility = objectives.marginal_utility(
        log_p_y, objectives.query_log_likelihood(log_p, mask)
      )
      p_null = tf.nn.softmax(scores)[:, objectives.NULL_POSITION]
      result['held_out_utility'] = utility.numpy()
      result['held_out_p_null'] = p_null.numpy()
    return {**result, **recalls}


def choose(
  queries: query_table.QueryTable,
  inputs: job_lib.Inputs,
  job: job_lib.Job,
  metric: str | None = None,
) -> np.ndarray:
  """Returns the held-out rows to measure, int64 [n], ascending.

  Raises:
    UserError: There are none, but a `metric` is to be measured on them.
  """
  config = inputs.config.held_out
  is_held_out = held_out.queries(queries, inputs.table, config.share)
  if config.share and not is_held_out.any():
    logging.info('No query is from a held-out article; nothing is measured.')
  rows = held_out.choose(is_held_out, config.num_queries, inputs.config.seed)
  share = job.share(inputs.config.pretraining.batch_size)
  if share.count > 1 and len(rows):
    logging.warning('Held-out queries are measured by single processes only.')
    rows = rows[:0]
  if metric and not len(rows):
    raise errors.UserError(
      '--keep_best needs held-out queries that one process measures. Found '
      f'none with held_out.share={config.share}. Raise it, or leave out '
      '--keep_best.'
    )
  return rows


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
    queries: HeldOutQueries,
    model: realm_model.RealmModel,
    run_dir: str,
    *,
    until: int,
    retriever: interfaces.Retriever | None = None,
    metric: str | None = None,
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
      if step <= last or not self._is_ready(step):
        continue
      current = weights.values(self._model.variables)
      try:
        self._model.load(model_files.read_params(self._params(step)))
        retriever = self._retriever or self._queries.index_layer(
          versions.version_path(self._index_root, step)
        )
        means = self._queries.measure(retriever)
        metrics_log.append_held_out(self._run_dir, step, means)
      except (errors.UserError, OSError, tf.errors.OpError) as error:
        logging.warning('Version %d was not measured: %s', step, error)
      finally:
        weights.assign(self._model.variables, current)

  def wait_for(self, step: int) -> None:
    """Waits a limited time for the last version's index; then `measure_new`."""
    # The shortest time from parameters to their index: a longer one may include
    # waiting for a refresher to start.
    begun, ended = (
      {
        version.step: tf.io.gfile.stat(
          os.path.join(version.path, manifests.NAME)
        ).mtime_nsec
        for version in versions.complete(root)
      }
      for root in (self._params_root, self._index_root)
    )
    refresh_secs = min(
      ((ended[each] - begun[each]) / 1e9 for each in begun.keys() & ended),
      default=0.0,
    )
    wait_secs = max(_LEAST_WAIT_SECS, _WAIT_FACTOR * refresh_secs)
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

  def publish_best(self, inputs: job_lib.Inputs) -> None:
    """Copies the best version, if any, to the model directory best/."""
    best = self._best()
    if best is None:
      if self._metric:
        logging.warning('No version was measured: there is no best one.')
      return
    logging.info('The best version by %s has step %d.', self._metric, best)
    best_dir = layout.best_dir(self._run_dir)
    if tf.io.gfile.exists(best_dir):
      manifests.remove_tree(best_dir)
    model_files.create(best_dir, inputs.config, inputs.vocab_file)
    arrays = model_files.read_params(self._params(best))
    model_files.publish(best_dir, best, arrays)

  def _best(self) -> int | None:
    """Returns the first step with the metric's highest value, if any.

    Only present versions count: after a resume, a good one may be missing.
    """
    if self._metric is None:
      return None
    scores = metrics_log.values(self._path, self._metric)
    present = [s for s in versions.steps(self._params_root) if s in scores]
    return max(present, key=lambda step: scores[step], default=None)

  def _params(self, step: int) -> versions.Version:
    return versions.Version(
      step, versions.version_path(self._params_root, step)
    )

  def _is_ready(self, step: int) -> bool:
    path = versions.version_path(self._index_root, step)
    return self._retriever is not None or versions.is_complete(path)
