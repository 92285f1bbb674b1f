"""ScaNN's search as a TensorFlow op, for SavedModels.

Unlike in `scann_searcher`, blocks have no second partition (SOAR): ScaNN's ops
lack it. An op makes the searcher from variables once per process and keeps it
under a name forever. The name must be unique.
"""

import uuid

import numpy as np
from scann.scann_ops.py import scann_ops
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf.index import scann_searcher
from realm_tf.index import searcher

# The op's arguments, in order.
_STATE = (
  'dataset',
  'scann_config',
  'serialized_partitioner',
  'datapoint_to_token',
  'ah_codebook',
  'hashed_dataset',
  'int8_dataset',
  'int8_multipliers',
  'dp_norms',
)


class ScannModule(tf.Module):
  """Searches blocks approximately, inside a graph; made by `build`.

  The class is a `searcher.ApproximateSearcher` without `save`.
  """

  def __init__(self, state: tf.Module, num_leaves: int):
    super().__init__(name='scann')
    self._state, self.num_leaves = state, num_leaves
    self._shared_name = f'realm_tf-{uuid.uuid4()}'

  @classmethod
  def build(
    cls, embeddings: np.ndarray, config: config_lib.IndexConfig
  ) -> 'ScannModule':
    """Builds a searcher over float32 [N, D]; UserError if N is too small."""
    number = len(embeddings)
    if number < searcher.MIN_BLOCKS:
      raise errors.UserError(
        f'--searcher=scann must search {searcher.MIN_BLOCKS} blocks or more. '
        f'Found {number}. Use --searcher=exact.'
      )
    leaves, effort = searcher.untuned(config, number)
    builder = scann_searcher.prepare(
      scann_ops.builder, embeddings, leaves, effort
    ).reorder(min(effort.num_to_rescore, number))
    state = builder.build().serialize_to_module()
    return cls(state, leaves)

  def search(
    self, queries: np.ndarray, k: int, effort: searcher.Effort
  ) -> interfaces.Neighbors:
    found = self.find(tf.constant(queries, tf.float32), k, effort)
    return interfaces.Neighbors(*(values.numpy() for values in found))

  def find(
    self, queries: tf.Tensor, k: int, effort: searcher.Effort
  ) -> tuple[tf.Tensor, tf.Tensor]:
    """Returns ids and scores of the top `k` as tensors, [B, k]."""
    # The op refuses an empty batch.
    number = tf.shape(queries)[0]
    padded = tf.pad(queries, [[0, tf.cast(number == 0, tf.int32)], [0, 0]])
    handle = scann_ops.tensors_to_scann(
      *(getattr(self._state, name) for name in _STATE),
      shared_name=self._shared_name,
    )
    ids, scores = scann_ops.scann_search_batched(
      handle,
      padded,
      k,
      max(k, effort.num_to_rescore),
      effort.leaves_to_search,
      False,
    )
    # The op returns fewer than k columns if no query has k hits.
    missing = [[0, 0], [0, k - tf.shape(ids)[1]]]
    ids = tf.pad(ids, missing)
    scores = tf.pad(scores, missing, constant_values=-float('inf'))
    ids, scores = (
      tf.ensure_shape(values[:number], [None, k]) for values in (ids, scores)
    )
    # ScaNN pads missing hits with id 0 and a score of NaN.
    found = tf.math.is_finite(scores)
    return (
      tf.where(found, ids, interfaces.NULL_BLOCK),
      tf.where(found, scores, -float('inf')),
    )
