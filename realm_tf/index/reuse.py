"""Embeddings of an older index version, for blocks that are the same in it.

The same block, embedded by the same parameters, has the same embedding in any
corpus; blocks are told by the hash of title and body. So articles that come or
go cost the embedding of the new ones only, and parameters that differ only in
the reader cost nothing.
"""

from typing import Any, NamedTuple

import numpy as np

from realm_tf import errors
from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.index import storage
from realm_tf.rundir import versions

# What has to be the same for the same block to have the same embedding.
_SAME = (
  'embedder_fingerprint',
  'block_tokens',
  'title_tokens',
  'embed_dtype',
  'storage_dtype',
)


class Found(NamedTuple):
  """What `Base.find` found for n blocks.

  Attributes:
    is_known: bool [n].
    embeddings: float32 [number of known ones, D].
  """

  is_known: np.ndarray
  embeddings: np.ndarray


class Base:
  """An older version, whose embeddings are found by the hash of a block.

  Args:
    path: Of the version.
    plan: Of the version in the making.

  Raises:
    UserError: The version is damaged, or embedded in another way.
  """

  def __init__(self, path: str, plan: index_plan.Plan):
    manifest = storage.read_manifest(path)
    _check_same(path, manifest, plan)
    versions.verify(path)
    self._embeddings: embedding_shards.Embeddings = storage.read_embeddings(
      path, manifest
    )
    hashes = np.asarray(storage.read_hashes(path, manifest))
    self._order = np.argsort(hashes, kind='stable')
    self._sorted = hashes[self._order]

  def find(self, hashes: np.ndarray) -> Found:
    """Looks for blocks by their hashes, uint64 [n]."""
    if not len(self._sorted):
      is_known = np.zeros(len(hashes), bool)
      return Found(is_known, self._embeddings[0:0])
    places = np.searchsorted(self._sorted, hashes)
    places = np.minimum(places, len(self._sorted) - 1)
    is_known = self._sorted[places] == hashes
    return Found(is_known, self._embeddings[self._order[places[is_known]]])


def _check_same(path: str, manifest: dict[str, Any], plan: index_plan.Plan):
  for name in _SAME:
    expected, found = getattr(plan, name), manifest[name]
    if found != expected:
      raise errors.UserError(
        'Embeddings can only be reused of an index that was embedded in the '
        f'same way. Found {name} {_short(found)} in {path}, and '
        f'{_short(expected)} here. Build the index without it.'
      )


def _short(value):
  return value[:12] if isinstance(value, str) else value
