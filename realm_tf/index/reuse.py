"""Takes the embeddings of unchanged blocks from an older index version.

The same block, embedded by the same parameters, has the same embedding in any
corpus; blocks are told apart by the hash of title and body. Only new articles
are embedded, and parameters that differ only in the reader cost nothing.
"""

from typing import Any, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.index import storage
from realm_tf.rundir import versions

# Fields of a plan that decide about the embedding of a block.
_SAME = (
  'embedder_fingerprint',
  'block_tokens',
  'title_tokens',
  'embed_dtype',
  'storage_dtype',
)


class Base:
  """An older version, whose embeddings are found by the hash of a block.

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

  def find(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds blocks by their hashes, uint64 [n].

    Returns:
      Which are known, bool [n], and the embeddings of these, float32 [m, D].
    """
    if not len(self._sorted):
      return np.zeros(len(hashes), bool), self._embeddings[0:0]
    places = np.searchsorted(self._sorted, hashes)
    places = np.minimum(places, len(self._sorted) - 1)
    is_known = self._sorted[places] == hashes
    return is_known, self._embeddings[self._order[places[is_known]]]


def newest(index_root: str, plan: index_plan.Plan) -> Optional[Base]:
  """Returns the newest version as a base; None if there is none that fits."""
  version = versions.newest(index_root)
  return None if version is None else if_fit(version.path, plan)


def if_fit(path: str, plan: index_plan.Plan) -> Optional[Base]:
  """Returns a version as a base; None, and a line in the log, if unfit."""
  try:
    return Base(path, plan)
  except errors.UserError as error:
    logging.info('Embedding all blocks: %s', error)
    return None


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
