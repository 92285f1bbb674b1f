"""Takes the embeddings of unchanged blocks from an older index version.

Blocks with the same hash of title and body have the same embedding in any
corpus, as long as the embedder's parameters are the same. Only new blocks are
embedded. A change of the reader's parameters costs nothing.
"""

from collections.abc import Callable, Iterable
from typing import Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.index import index_plan
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.rundir import versions

# Fields of a plan that determine the embedding of a block.
_SAME = (
  'embedder_fingerprint',
  'block_tokens',
  'title_tokens',
  'embed_dtype',
  'storage_dtype',
)


class Base:
  """An older version; UserError if damaged, or embedded differently."""

  def __init__(self, path: str, plan: index_plan.Plan):
    manifest = storage.read_manifest(path)
    for name in _SAME:
      expected, found = str(getattr(plan, name)), str(manifest[name])
      if found != expected:
        raise errors.UserError(
          'A reused index must have been embedded in the same way. Found '
          f'{name} {found[:12]} in {path}, and {expected[:12]} here. Build the '
          'index without it.'
        )
    versions.verify(path)
    self._embeddings = storage.read_embeddings(path, manifest)
    hashes = np.asarray(storage.read_hashes(path, manifest))
    self._order = np.argsort(hashes, kind='stable')
    self._sorted = hashes[self._order]

  def embed(
    self,
    all_hashes: np.ndarray,
    embed_new: version_work.EmbedRows,
    block_ids: np.ndarray,
    progress: Callable[[int], None],
  ) -> np.ndarray:
    """Returns embeddings of blocks, float32 [n, D]; embeds only unknown blocks.

    Args:
      all_hashes: Hashes of the corpus's blocks, uint64 [N].
      embed_new: Embeds unknown blocks.
      block_ids: int64 [n].
      progress: Called with the number of reused or newly embedded blocks.
    """
    is_known, old = self.find(np.asarray(all_hashes[block_ids]))
    progress(len(old))
    result = np.empty([len(block_ids), old.shape[1]], np.float32)
    result[is_known] = old
    if not is_known.all():
      result[~is_known] = embed_new(block_ids[~is_known], progress)
    return result

  def find(self, hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finds blocks by their hashes, uint64 [n].

    Returns whether each is known, bool [n], and the embeddings of known blocks.
    """
    if not len(self._sorted):
      return np.zeros(len(hashes), bool), self._embeddings[0:0]
    places = np.searchsorted(self._sorted, hashes)
    places = np.minimum(places, len(self._sorted) - 1)
    is_known = self._sorted[places] == hashes
    return is_known, self._embeddings[self._order[places[is_known]]]


def first_fit(
  paths: Iterable[Optional[str]], plan: index_plan.Plan
) -> Optional[Base]:
  """Returns the first version that fits, or None; logs why others do not."""
  for path in filter(None, paths):
    try:
      return Base(path, plan)
    except errors.UserError as error:
      logging.info('Embeddings of %s are not reused: %s', path, error)
  return None
