"""Embeds queries and finds their blocks on the devices that train.

Each device embeds its part of a batch and holds a part of the blocks. The
devices share the embeddings, search their parts exactly, and share the best
blocks: the top K of an index version (Section 3.3 of Guu et al. 2020), without
a host's work between two steps.
"""

import math
from typing import Any

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.data import joining
from realm_tf.index import exact_search
from realm_tf.index import model_files
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import storage
from realm_tf.model import precision
from realm_tf.model import realm_model
from realm_tf.model import strategies
from realm_tf.retrieval import retriever

# Of a device's part of two index versions, for searcher 'auto'.
_MOST_BYTES = 1 << 30


def is_used(strategy: tf.distribute.Strategy) -> bool:
  """Returns whether queries are embedded on the strategy's devices.

  A CPU alone embeds in a thread, during the step.
  """
  return (
    strategy.num_replicas_in_sync > 1
    or isinstance(strategy, tf.distribute.TPUStrategy)
    or bool(tf.config.list_physical_devices('GPU'))
  )


def num_parts(strategy: tf.distribute.Strategy) -> int:
  """Returns the number of parts of the index.

  A process of several holds the whole index on each of its devices: processes
  load a version at different steps, and may not wait for each other.
  """
  is_alone = strategies.num_workers(strategy) == 1
  return strategy.num_replicas_in_sync if is_alone else 1


class DeviceRetriever(retriever.Starting):
  """Holds one index version at a time; `load` replaces it.

  Programs have sums over all devices. So only the thread that runs the steps
  may call `begin`, between two of them.

  Args:
    strategy: Its replicas embed and search.
    num_blocks: Number of blocks of the index; 0 leaves the search to the host.
    model: Model in training, made in the strategy's scope; by default one of
      its own, that gets the parameters of the loaded version.
  """

  def __init__(
    self,
    strategy: tf.distribute.Strategy,
    config: config_lib.ExperimentConfig,
    special_ids: tuple[int, int],
    num_blocks: int,
    model: realm_model.RealmModel | None = None,
  ):
    self._strategy, self._number = strategy, num_parts(strategy)
    self._special_ids, self._searcher = special_ids, None
    # Without blocks, the devices only embed, and a searcher of the host finds.
    self.holds_blocks = num_blocks > 0 and holds_blocks(
      strategy, config, num_blocks
    )
    self._num_blocks = num_blocks if self.holds_blocks else 0
    self._query_tokens = config.lengths.query_tokens
    self._top = exact_search.approximate_top if precision.has_tpu() else None
    size = part_size(self._num_blocks, self._number)
    with strategy.scope():
      self._model = model or realm_model.RealmModel(
        config.model, [realm_model.QUERY_EMBEDDER]
      )
      self._rows = tf.Variable(
        tf.zeros([size, config.model.embedding_width], _dtype(config.index)),
        trainable=False,
        name='block_embeddings',
        synchronization=tf.VariableSynchronization.ON_READ,
        aggregation=tf.VariableAggregation.ONLY_FIRST_REPLICA,
      )
    self._program = tf.function(self.distributed, autograph=False)

  def load(self, path: str, fingerprint: str) -> None:
    """Loads an index version of a corpus, with its embedder's parameters."""
    self._searcher = None  # The old one goes before the new one comes.
    if self.holds_blocks:
      self.load_blocks(storage.open_version(path, fingerprint)[1])
    else:
      index = storage.load(path, fingerprint, own_process=True)
      self.load_blocks(index.embeddings, index.searcher)
    with self._strategy.scope():
      model_files.load_version(self._model, path)

  def load_blocks(
    self, embeddings: np.ndarray, searcher: interfaces.Searcher | None = None
  ) -> None:
    """Copies blocks to the devices that hold them; runs no program there.

    Args:
      embeddings: float [N, D]; may be memory-mapped.
      searcher: Finds blocks on the host if devices hold none.
    """
    if not self.holds_blocks:
      self._searcher = searcher
      return
    parts = self._strategy.experimental_local_results(self._rows)
    for i, part in enumerate(parts):
      size = part.shape[0]
      first = i % self._number * size
      places = np.arange(first, min(first + size, self._num_blocks))
      part.assign(
        exact_search.padded(
          embeddings, part.dtype.name, ids=self._ids(places), size=size
        )
      )

  def begin(self, queries: interfaces.Queries, k: int) -> retriever.Find:
    """Starts a search; the returned function waits for its result.

    This process's replicas must divide the queries equally.
    """
    ids = strategies.spread(self._strategy, {'ids': queries.ids})['ids']
    found = self._program(ids, min(k, self._num_blocks))
    searcher = self._searcher

    def local(values: Any) -> np.ndarray:
      parts = self._strategy.experimental_local_results(values)
      if self._number > 1:
        parts = parts[:1]  # Each has the whole batch: one copy to the host.
      return np.concatenate([part.numpy() for part in parts])

    def end() -> interfaces.Neighbors:
      if searcher is not None:
        hits = searcher.search(local(found), k)
      else:
        places, scores = map(local, found)
        hits = interfaces.Neighbors(self._ids(places), scores)
      return searcher_lib.fill(hits, k)

    return end

  def _ids(self, places: np.ndarray) -> np.ndarray:
    """Returns the block at each place of all devices' rows, int32; -1 stays."""
    ids = spread(places, self._num_blocks) if self._top else places
    return np.where(places < 0, interfaces.NULL_BLOCK, ids).astype(np.int32)

  def distributed(self, query_ids: Any, k: int) -> Any:
    """Returns places and scores, [B, k], or embeddings, of each replica.

    They are of the whole batch if the replicas share the blocks, else of the
    replica's part.
    """
    return self._strategy.run(self._find, args=(query_ids, k))

  def _find(self, query_ids: tf.Tensor, k: int) -> Any:
    queries = self._model.embed_queries(
      joining.pack_longest(
        query_ids, None, *self._special_ids, self._query_tokens
      )
    )  # [b, D]
    place = tf.constant(0)
    if self._number > 1:
      replica = tf.distribute.get_replica_context()
      place = tf.cast(replica.replica_id_in_sync_group, tf.int32)
    wanted = self._of_all(queries, place)  # [n, b, D]
    wanted = tf.reshape(wanted, [-1, wanted.shape[-1]])
    if not self._num_blocks:
      return wanted
    rows = tf.convert_to_tensor(self._rows)
    first = place * rows.shape[0]
    numbers, scores = exact_search.top_rows(
      rows,
      wanted,
      tf.clip_by_value(self._num_blocks - first, 0, rows.shape[0]),
      k,
      self._top,
    )
    numbers = tf.where(numbers < 0, interfaces.NULL_BLOCK, numbers + first)
    if self._number == 1:
      return numbers, scores
    # Parts follow each other, so equal scores stay in the order of ids.
    numbers, scores = (
      tf.reshape(
        tf.transpose(self._of_all(each, place), [1, 0, 2]),
        [-1, self._number * k],
      )
      for each in (numbers, scores)
    )
    scores, order = tf.math.top_k(scores, k)
    return tf.gather(numbers, order, batch_dims=1), scores

  def _of_all(self, value: tf.Tensor, place: tf.Tensor) -> tf.Tensor:
    """Returns the values of all n replicas, [n, ...]; all have one shape."""
    if self._number == 1:
      return value[None]
    is_own = tf.reshape(
      tf.range(self._number) == place, [-1] + [1] * value.shape.rank
    )
    # A sum of one value and zeros: exact, and every strategy has sums.
    return tf.distribute.get_replica_context().all_reduce(
      tf.distribute.ReduceOp.SUM,
      tf.where(is_own, value[None], tf.zeros([], value.dtype)),
    )


def holds_blocks(
  strategy: tf.distribute.Strategy,
  config: config_lib.ExperimentConfig,
  num_blocks: int,
) -> bool:
  """Returns whether the devices hold the blocks, or only embed the queries."""
  chosen = config.index.searcher
  numbers = (
    part_size(num_blocks, num_parts(strategy)) * config.model.embedding_width
  )
  two = 2 * numbers * tf.as_dtype(_dtype(config.index)).size
  return chosen == 'device' or (chosen == 'auto' and two <= _MOST_BYTES)


def spread(places: np.ndarray, num_blocks: int) -> np.ndarray:
  """Returns another block for each place, far from its neighbours' blocks.

  The blocks of an article follow each other and are found together. An
  approximate top keeps one of each bin of neighbours, and would lose the rest.
  """
  stride = round(0.618 * num_blocks)  # About the golden ratio's.
  while math.gcd(stride, num_blocks) > 1:
    stride += 1
  return places.astype(np.int64) * stride % num_blocks


def part_size(num_blocks: int, number: int) -> int:
  """Returns the rows of each of `number` parts, with padding."""
  group = exact_search.GROUP
  return -(-num_blocks // (number * group)) * group


def _dtype(config: config_lib.IndexConfig) -> str:
  return 'bfloat16' if config.storage_dtype == 'bfloat16' else 'float32'
