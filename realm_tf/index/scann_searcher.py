"""Approximate search by ScaNN, through its pybind API.

Partitions (Guo et al. 2020, https://arxiv.org/abs/1908.10396), a second one for
each block (SOAR, Sun et al. 2024, https://arxiv.org/abs/2404.00774), codes of 4
bits for 2 dimensions, then rescoring. A pybind searcher's memory is freed with
the object; the TensorFlow op's memory is not.
"""

from collections.abc import Callable
import math
import os
from typing import Any

import numpy as np
from scann.scann_ops.py import scann_ops_pybind

from realm_tf import config as config_lib
from realm_tf.index import searcher
from realm_tf.index import tuning

_SOAR_LAMBDA = 1.5
_MIN_SPILLING_BLOCKS = 1000  # With fewer, a second partition does not help.
_TRAINING_BLOCKS = 250_000
_QUERIES_PER_TASK = 256  # At most; a batch is split over threads.


class ScannSearcher(searcher.ApproximateSearcher):
  """Tree partitioning, asymmetric hashing, then exact rescoring."""

  def __init__(self, handle: Any, num_leaves: int, effort: searcher.Effort):
    self._handle = handle
    self.num_leaves = num_leaves
    self.effort = effort

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'ScannSearcher':
    """Builds a searcher over float32 [N, D], N >= `tuning.MIN_BLOCKS`.

    Memory-mapped embeddings are copied only once, by ScaNN.
    """
    num_blocks = len(embeddings)
    leaves, effort = tuning.untuned(config, num_blocks)
    builder = prepare(
      scann_ops_pybind.builder,
      embeddings,
      leaves,
      effort,
      soar_lambda=_SOAR_LAMBDA if num_blocks >= _MIN_SPILLING_BLOCKS else None,
    )
    if config.vectors == 'memory':
      builder = builder.reorder(min(effort.num_to_rescore, num_blocks))
    return cls(builder.build(), leaves, effort)

  @classmethod
  def load(
    cls, directory: str, num_leaves: int, effort: searcher.Effort
  ) -> 'ScannSearcher':
    """Loads the files that `save` wrote into a local directory."""
    with open(os.path.join(directory, 'scann_assets.pbtxt')) as file:
      assets = file.read()
    # `load_searcher` might unpickle a file.
    handle = scann_ops_pybind.ScannSearcher(
      scann_ops_pybind.scann_pybind.ScannNumpy(directory, assets)
    )
    return cls(handle, num_leaves, effort)

  def save(self, directory: str) -> None:
    """Writes the searcher into a local directory, which can be moved."""
    self._handle.serialize(directory, relative_path=True)

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    queries = np.ascontiguousarray(queries, np.float32)
    options = {
      'final_num_neighbors': k,
      'pre_reorder_num_neighbors': max(k, self.effort.num_to_rescore),
      'leaves_to_search': self.effort.leaves_to_search,
    }
    if len(queries) == 1:  # No threads to wake.
      ids, scores = self._handle.search(queries[0], **options)
      return searcher.fill(searcher.mark_missing(ids[None], scores[None]), k)
    share = math.ceil(len(queries) / (os.cpu_count() or 1))
    ids, scores = self._handle.search_batched_parallel(
      queries, batch_size=min(_QUERIES_PER_TASK, share), **options
    )
    # ScaNN pads missing hits with id 0 and a score of NaN.
    return searcher.mark_missing(ids, scores)


def prepare(
  make_builder: Callable[..., Any],
  embeddings: np.ndarray,
  leaves: int,
  effort: searcher.Effort,
  **tree_options: Any,
) -> Any:
  """Returns a configured ScaNN builder, without rescoring."""
  number = len(embeddings)
  builder = make_builder(
    np.ascontiguousarray(embeddings, np.float32), 10, 'dot_product'
  )
  # No random start, so that each build gives the same index.
  builder = builder.tree(
    leaves,
    effort.leaves_to_search,
    random_init=False,
    training_sample_size=min(number, _TRAINING_BLOCKS),
    **tree_options,
  )
  builder = builder.score_ah(2, anisotropic_quantization_threshold=0.2)
  builder.set_n_training_threads(os.cpu_count())
  return builder
