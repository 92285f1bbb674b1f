"""Builds, tunes, writes and reads the searcher of an index.

An exact searcher has no files: the embeddings and the settings in the manifest
suffice. Searchers are imported when first used, since some load slowly.
"""

from collections.abc import Iterator, Sequence
import contextlib
import os
import tempfile
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import json_text
from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import tuning

_EXACT_KINDS = ('brute_force', 'device')
_TOP = 10
# The effort for a tuned k; 'measured', the recall there, may be missing.
_EFFORT = {
  'k': json_text.count(1),
  'leaves_to_search': json_text.count(1),
  'num_to_rescore': json_text.COUNT,
}
# The field 'searcher' of an index's manifest.
SHAPE = json_text.object_of(
  {
    'kind': json_text.one_of(*_EXACT_KINDS, 'scann', 'milvus'),
    'num_leaves': json_text.optional(json_text.count(1)),
    # Until 0.6, 'disk': without rescoring, such an index would find less.
    'vectors': json_text.optional(json_text.one_of(None)),
    'dtype': json_text.optional(json_text.one_of('float32', 'bfloat16')),
    'efforts': json_text.optional(
      json_text.list_of(json_text.object_of(_EFFORT))
    ),
  }
)


class Built(NamedTuple):
  """A searcher and its settings, for the manifest."""

  searcher: searcher_lib.Searcher
  settings: dict[str, Any]  # Fields of `SHAPE`.


def kind(config: config_lib.IndexConfig, num_blocks: int) -> str:
  """Returns the kind of searcher for `num_blocks` blocks: never 'auto'.

  Blocks too few to train an approximate searcher are searched exactly.
  """
  if is_exact(config.searcher):
    return config.searcher
  if num_blocks < searcher_lib.MIN_BLOCKS:
    return 'brute_force'
  if config.searcher == 'auto':
    return 'brute_force' if num_blocks < config.exact_below_blocks else 'scann'
  return config.searcher


def is_exact(chosen: str) -> bool:
  """Returns whether searchers of a kind are exact."""
  return chosen in _EXACT_KINDS


def build(
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: Optional[np.ndarray] = None,
  ks: Sequence[int] = (_TOP,),
) -> Built:
  """Builds the config's searcher, and tunes it on `queries`.

  Args:
    embeddings: float32 [N, D]; may be memory-mapped.
    queries: float32 [Q, D], held out. Without queries, or with a recall target
      of 0, the config sets the effort.
    ks: Numbers of blocks that jobs search for.
  """
  settings: dict[str, Any] = {'kind': kind(config, len(embeddings))}
  if is_exact(settings['kind']):
    if settings['kind'] == 'device' and config.storage_dtype == 'bfloat16':
      settings['dtype'] = 'bfloat16'  # The dtype on disk.
    return Built(_exact(settings, embeddings), settings)
  searcher = _adapter(settings['kind']).build(embeddings, config)
  settings['num_leaves'] = searcher.num_leaves
  settings['efforts'] = [{'k': _TOP, **searcher.effort._asdict()}]
  built = Built(searcher, settings)
  if queries is None or not len(queries):
    return built
  return tune(built, embeddings, config, queries, ks)


def tune(
  built: Built,
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: np.ndarray,
  ks: Sequence[int] = (_TOP,),
) -> Built:
  """Returns the approximate searcher with efforts tuned on `queries`.

  Args:
    built: Result of `build` without queries.
    queries: float32 [Q, D], held out; Q > 0.
    ks: Numbers of blocks that jobs search for; each gets its effort.
  """
  searcher: Any = built.searcher
  num_blocks, target = len(embeddings), config.recall_target
  ks = sorted({min(k, num_blocks) for k in ks})
  exact = exact_search.BruteForceSearcher(embeddings)
  expected_ids = exact.search(queries, ks[-1]).block_ids
  rows, efforts, leaves = [], {}, 1
  for k in ks:
    candidates = [searcher.effort]
    if target:
      # A larger k needs at least the leaves of a smaller k.
      candidates = tuning.efforts(searcher.num_leaves, num_blocks, k, leaves)
    chosen, recall = tuning.choose(
      searcher, candidates, queries, expected_ids[:, :k], target
    )
    logging.info('Recall@%d is %.4f at %s.', k, recall, chosen)
    efforts[k], leaves = chosen, chosen.leaves_to_search
    rows.append({'k': k, **chosen._asdict(), 'measured': recall})
  settings = {
    **built.settings,
    'efforts': rows,
    'recall': {'target': target, 'num_queries': len(queries)},
  }
  return Built(searcher_lib.TunedSearcher(searcher, efforts), settings)


def save(searcher: searcher_lib.Searcher, directory: str) -> bool:
  """Writes a searcher's files into `directory`; returns whether it has any."""
  if not hasattr(searcher, 'save'):
    return False
  tf.io.gfile.makedirs(directory)
  if '://' not in directory:
    searcher.save(directory)
    return True
  with tempfile.TemporaryDirectory() as local:
    searcher.save(local)
    _copy(local, directory)
  return True


def load(
  settings: dict[str, Any],
  directory: str,
  embeddings: np.ndarray,
  own_process: bool = False,
) -> searcher_lib.Searcher:
  """Loads a searcher with its tuned efforts.

  Args:
    directory: Directory that `save` wrote; not read for an exact searcher.
    embeddings: float [N, D] from which the searcher was built.
    own_process: Whether ScaNN runs in a process of its own, since it holds
      Python's lock while it loads.
  """
  if is_exact(settings['kind']):
    return _exact(settings, embeddings)
  rows, leaves = settings.get('efforts'), settings.get('num_leaves')
  if not rows or not leaves:
    raise errors.UserError(
      f"'searcher' in the manifest of {os.path.dirname(directory)} must have "
      f"'num_leaves' and 'efforts'. Found {sorted(settings)}. Build the index "
      'again with bin.build_index.'
    )
  efforts = {
    row['k']: searcher_lib.Effort(
      row['leaves_to_search'], row['num_to_rescore']
    )
    for row in rows
  }
  with _local(directory) as path:
    if own_process and settings['kind'] == 'scann':
      from realm_tf.index import scann_searcher

      return scann_searcher.ScannProcess.load(path, leaves, efforts)
    searcher = _adapter(settings['kind']).load(
      path, leaves, next(iter(efforts.values()))
    )
  return searcher_lib.TunedSearcher(searcher, efforts)


def publish(settings: dict[str, Any], directory: str, name: str) -> None:
  """Lets a server's other users find a saved searcher as `name`."""
  if settings['kind'] == 'milvus':
    with _local(directory) as path:
      _adapter('milvus').publish(path, name)


def release(settings: dict[str, Any], directory: str) -> None:
  """Drops a saved searcher's data on a server."""
  if settings['kind'] == 'milvus':
    with _local(directory) as path:
      _adapter('milvus').drop(path)


def _exact(
  settings: dict[str, Any], embeddings: np.ndarray
) -> searcher_lib.Searcher:
  if settings['kind'] == 'brute_force':
    return exact_search.BruteForceSearcher(embeddings)
  return exact_search.DeviceSearcher(
    embeddings, settings.get('dtype', 'float32')
  )


def _adapter(chosen: str) -> Any:
  """Returns the class of an approximate searcher; imports its library."""
  if chosen == 'scann':
    from realm_tf.index import scann_searcher

    return scann_searcher.ScannSearcher
  from realm_tf.index import milvus_searcher

  return milvus_searcher.MilvusSearcher


@contextlib.contextmanager
def _local(directory: str) -> Iterator[str]:
  """Yields a local directory with the files of `directory`."""
  if '://' not in directory:
    yield directory
    return
  with tempfile.TemporaryDirectory() as local:
    _copy(directory, local)
    yield local


def _copy(source: str, target: str) -> None:
  # The searchers' libraries read and write only local files.
  for name in tf.io.gfile.listdir(source):
    tf.io.gfile.copy(
      os.path.join(source, name), os.path.join(target, name), overwrite=True
    )
