"""Approximate search by faiss, an extra: partitions, codes, exact rescoring.

Codes of 4 bits for 2 dimensions are scanned in registers (FastScan, Andre et
al. 2017, https://arxiv.org/abs/1704.07355).
"""

import os
from typing import Any

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import searcher
from realm_tf.index import tuning

try:
  import faiss
except ImportError as error:
  raise errors.UserError(
    "faiss must be installed for `searcher='faiss'`. Found no module named "
    "faiss. Run: pip install 'realm_tf[faiss]'"
  ) from error

_FILE = 'index.faiss'
_SEED = 1234
_TRAINING_BLOCKS = 250_000
_ADDED_BLOCKS = 1 << 17  # Coded at once.


class FaissSearcher(searcher.ApproximateSearcher):
  """IVF-PQ FastScan with refinement, in faiss' terms."""

  def __init__(self, index: Any, num_leaves: int, effort: searcher.Effort):
    self._index = index
    self.num_leaves = num_leaves
    self.effort = effort
    # (K, effort) -> parameters. Making them takes as long as one search.
    self._parameters: dict[tuple[int, searcher.Effort], Any] = {}

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'FaissSearcher':
    """Builds a searcher over float32 [N, D], N >= 16."""
    num_blocks, width = embeddings.shape
    on_disk = config.vectors == 'disk'
    leaves, effort = tuning.untuned(config, num_blocks)
    codes = width // 2 if width % 2 == 0 else width
    faiss.omp_set_num_threads(os.cpu_count())
    index = faiss.index_factory(
      width,
      f'IVF{leaves},PQ{codes}x4fs' + ('' if on_disk else ',RFlat'),
      faiss.METRIC_INNER_PRODUCT,
    )
    ivf = faiss.extract_index_ivf(index)
    ivf.cp.seed = _SEED
    faiss.downcast_index(ivf).pq.cp.seed = _SEED
    # Every `step`-th block, as neighbouring blocks share an article.
    step = max(1, num_blocks // _TRAINING_BLOCKS)
    index.train(np.ascontiguousarray(embeddings[::step], np.float32))
    for start in range(0, num_blocks, _ADDED_BLOCKS):
      chunk = embeddings[start : start + _ADDED_BLOCKS]
      index.add(np.ascontiguousarray(chunk, np.float32))
    return cls(index, leaves, effort)

  @classmethod
  def load(
    cls, directory: str, num_leaves: int, effort: searcher.Effort
  ) -> 'FaissSearcher':
    """Loads the file that `save` wrote into a local directory."""
    faiss.omp_set_num_threads(os.cpu_count())
    index = faiss.read_index(os.path.join(directory, _FILE))
    return cls(index, num_leaves, effort)

  def save(self, directory: str) -> None:
    faiss.write_index(self._index, os.path.join(directory, _FILE))

  def search(self, queries: np.ndarray, k: int) -> searcher.Neighbors:
    k = min(k, self._index.ntotal)
    key = k, self.effort
    if key not in self._parameters:
      self._parameters[key] = self._make_parameters(k)
    scores, ids = self._index.search(
      np.ascontiguousarray(queries, np.float32), k, params=self._parameters[key]
    )
    # faiss pads missing hits with id -1 and the lowest float.
    return searcher.mark_missing(ids, np.where(ids < 0, -np.inf, scores))

  def _make_parameters(self, k: int) -> Any:
    probes = faiss.IVFSearchParameters(nprobe=self.effort.leaves_to_search)
    if not isinstance(self._index, faiss.IndexRefine):
      return probes
    rescored = min(max(k, self.effort.num_to_rescore), self._index.ntotal)
    return faiss.IndexRefineSearchParameters(
      k_factor=(rescored + 0.5) / k,  # faiss rounds the product down.
      base_index_params=probes,
    )
