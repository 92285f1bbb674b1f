"""Approximate search by ScaNN, through its pybind API: the only import of it.

The pybind searcher frees its memory with the object and swaps cleanly; the
TensorFlow-op searcher keeps a resource that outlives it.
"""

import math

import numpy as np
from scann.scann_ops.py import scann_ops_pybind

from realm_tf import config as config_lib
from realm_tf.index import searcher

MIN_BLOCKS = 16  # ScaNN cannot train its codebooks on fewer points.


class ScannSearcher:
  """Tree partitioning, asymmetric hashing, then exact rescoring.

  Args:
    handle: A built or loaded pybind searcher.
    num_to_rescore: Approximate hits that are rescored exactly.
  """

  def __init__(self, handle, num_to_rescore: int):
    self._handle = handle
    self._num_to_rescore = num_to_rescore

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'ScannSearcher':
    """Builds a searcher over float32 `embeddings`, [N, D], N >= MIN_BLOCKS."""
    num_blocks = len(embeddings)
    leaves = config.num_leaves or max(1, round(math.sqrt(num_blocks)))
    leaves = min(leaves, num_blocks)
    to_search = max(1, math.ceil(leaves * config.leaves_to_search_fraction))
    builder = scann_ops_pybind.builder(
      np.ascontiguousarray(embeddings, np.float32), 10, 'dot_product'
    )
    # One training thread and no random start: the same index every time.
    builder = builder.tree(
      leaves,
      to_search,
      random_init=False,
      training_sample_size=min(num_blocks, 250_000),
    )
    builder = builder.score_ah(2, anisotropic_quantization_threshold=0.2)
    builder = builder.reorder(min(config.num_to_rescore, num_blocks))
    builder.set_n_training_threads(1)
    return cls(builder.build(), config.num_to_rescore)

  @classmethod
  def load(
    cls, directory: str, config: config_lib.IndexConfig
  ) -> 'ScannSearcher':
    """Loads what `save` wrote."""
    return cls(scann_ops_pybind.load_searcher(directory), config.num_to_rescore)

  def save(self, directory: str) -> None:
    """Writes the searcher's assets, movable, into an existing directory."""
    self._handle.serialize(directory, relative_path=True)

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    """See `searcher.Searcher`."""
    ids, scores = self._handle.search_batched_parallel(
      np.ascontiguousarray(queries, np.float32),
      final_num_neighbors=k,
      pre_reorder_num_neighbors=max(k, self._num_to_rescore),
    )
    # ScaNN pads what it did not find with id 0 and a score of NaN.
    found = ~np.isnan(scores)
    return searcher.Neighbors(
      np.where(found, ids.astype(np.int32), searcher.NOT_FOUND),
      np.where(found, scores, -np.inf).astype(np.float32),
    )
