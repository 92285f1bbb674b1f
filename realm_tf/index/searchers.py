"""Builds, tunes, writes and reads the searcher of an index, by its kind.

  embeddings + config (+ held-out queries) -> [this file] -> searcher, settings

An exact searcher has no files: it is made of the embeddings and the settings,
which stand in the manifest. Searchers are imported when first needed: some load
slowly.
"""

from collections.abc import Iterator, Sequence
import contextlib
import os
import tempfile
from typing import Any, NamedTuple, Optional

import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.index import brute_force
from realm_tf.index import disk_rescoring
from realm_tf.index import scann_process
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import tuning
from realm_tf.rundir import json_shapes

_EXACT_KINDS = ('brute_force', 'device')
_TOP = 10
_EFFORT = {
  'k': json_shapes.count(1),
  'leaves_to_search': json_shapes.count(1),
  'num_to_rescore': json_shapes.COUNT,
}
# What a manifest says of an index's searcher.
SHAPE = json_shapes.object_of(
  {
    'kind': json_shapes.one_of(*_EXACT_KINDS, 'scann', 'faiss', 'milvus'),
    'num_leaves': json_shapes.optional(json_shapes.count(1)),
    'vectors': json_shapes.optional(json_shapes.one_of('disk')),
    'dtype': json_shapes.optional(json_shapes.one_of('float32', 'bfloat16')),
    'efforts': json_shapes.optional(
      json_shapes.list_of(json_shapes.object_of(_EFFORT))
    ),
  }
)


class Built(NamedTuple):
  """A searcher and how it was made.

  Attributes:
    searcher: Ready to search, as tuned.
    settings: Fields of `SHAPE`. Of an approximate searcher, `efforts` are what
      is searched for each tuned k, with the recall 'measured' there.
  """

  searcher: searcher_lib.Searcher
  settings: dict[str, Any]


def kind(config: config_lib.IndexConfig, num_blocks: int) -> str:
  """Returns which searcher `num_blocks` blocks get: never 'auto'.

  An approximate one cannot be trained on a few blocks; they are searched
  exactly.
  """
  if is_exact(config.searcher):
    return config.searcher
  if num_blocks < tuning.MIN_BLOCKS:
    return 'brute_force'
  if config.searcher == 'auto':
    return 'brute_force' if num_blocks < config.exact_below_blocks else 'scann'
  return config.searcher


def is_exact(chosen: str) -> bool:
  """Returns whether searchers of a kind find the exact top blocks."""
  return chosen in _EXACT_KINDS


def build(
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: Optional[np.ndarray] = None,
  ks: Sequence[int] = (_TOP,),
) -> Built:
  """Builds the searcher of the config, and tunes it on `queries`.

  Args:
    embeddings: float32 [N, D]; may be memory-mapped.
    config: Kind of searcher, and its settings.
    queries: float32 [Q, D], held out; without them, or with a target of 0, the
      effort is that of the config.
    ks: Numbers of blocks that jobs search for.

  Raises:
    UserError: The searcher's package is not installed.
  """
  chosen = kind(config, len(embeddings))
  if is_exact(chosen):
    settings: dict[str, Any] = {'kind': chosen}
    if chosen == 'device' and config.storage_dtype == 'bfloat16':
      settings['dtype'] = 'bfloat16'  # So it is on disk already.
    return Built(_exact(settings, embeddings), settings)
  searcher = _adapter(chosen).build(embeddings, config)
  settings = {
    'kind': chosen,
    'num_leaves': searcher.num_leaves,
    'efforts': [{'k': _TOP, **searcher.effort._asdict()}],
  }
  if config.vectors == 'disk' and chosen != 'milvus':
    settings['vectors'] = 'disk'
    searcher = disk_rescoring.DiskRescorer(searcher, embeddings)
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
  """Returns an approximate searcher with the efforts that `queries` need.

  Args:
    built: Result of `build` without queries.
    queries: float32 [Q, D], held out; at least one.
    ks: Numbers of blocks that jobs search for; each is tuned for.
  """
  searcher: Any = built.searcher
  num_blocks = len(embeddings)
  ks = sorted({min(k, num_blocks) for k in ks})
  exact = brute_force.BruteForceSearcher(embeddings)
  expected_ids = exact.search(queries, ks[-1]).block_ids
  target = config.recall_target
  choices = tuning.tune(searcher, num_blocks, queries, expected_ids, ks, target)
  efforts = {k: choice.effort for k, choice in choices.items()}
  settings = {
    **built.settings,
    'efforts': [
      {'k': k, **choice.effort._asdict(), 'measured': choice.recall}
      for k, choice in choices.items()
    ],
    'recall': {'target': target, 'num_queries': len(queries)},
  }
  return Built(searcher_lib.TunedSearcher(searcher, efforts), settings)


def save(searcher: searcher_lib.Searcher, directory: str) -> bool:
  """Writes a searcher's files into `directory`; returns whether it has any."""
  if not hasattr(searcher, 'save'):
    return False
  tf.io.gfile.makedirs(directory)
  if not _is_remote(directory):
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
  """Loads a searcher as it was tuned.

  Args:
    directory: Directory that `save` wrote; not read for an exact searcher.
    embeddings: float [N, D] that it was built of.
    own_process: Whether ScaNN, which holds Python's lock while it loads, gets
      a process of its own; see `scann_process`.

  Raises:
    UserError: The searcher's package is not installed.
  """
  if is_exact(settings['kind']):
    return _exact(settings, embeddings)
  efforts = _efforts(settings, directory)
  leaves = settings['num_leaves']
  on_disk = settings.get('vectors') == 'disk'
  with _local(directory) as path:
    # Codes alone load fast.
    if own_process and settings['kind'] == 'scann' and not on_disk:
      return scann_process.ScannProcess.load(path, leaves, efforts)
    searcher = _adapter(settings['kind']).load(
      path, leaves, next(iter(efforts.values()))
    )
  if on_disk:
    searcher = disk_rescoring.DiskRescorer(searcher, embeddings)
  return searcher_lib.TunedSearcher(searcher, efforts)


def publish(settings: dict[str, Any], directory: str, name: str) -> None:
  """Makes a saved searcher the one that a server's other users find.

  Args:
    name: The same for all versions of an index.
  """
  if settings['kind'] == 'milvus':
    with _local(directory) as path:
      _adapter('milvus').publish(path, name)


def release(settings: dict[str, Any], directory: str) -> None:
  """Drops what a saved searcher holds on a server, if anything."""
  if settings['kind'] == 'milvus':
    with _local(directory) as path:
      _adapter('milvus').drop(path)


def _efforts(
  settings: dict[str, Any], directory: str
) -> dict[int, searcher_lib.Effort]:
  """Returns k -> effort of an approximate searcher."""
  rows = settings.get('efforts')
  if not rows or 'num_leaves' not in settings:
    raise errors.UserError(
      f"'searcher' in the manifest of {os.path.dirname(directory)} must have "
      f"'num_leaves' and 'efforts'. Found {sorted(settings)}. Build the index "
      'again with bin.build_index.'
    )
  return {
    row['k']: searcher_lib.Effort(
      row['leaves_to_search'], row['num_to_rescore']
    )
    for row in rows
  }


def _exact(
  settings: dict[str, Any], embeddings: np.ndarray
) -> searcher_lib.Searcher:
  if settings['kind'] == 'brute_force':
    return brute_force.BruteForceSearcher(embeddings)
  from realm_tf.index import device_searcher

  return device_searcher.DeviceSearcher(
    embeddings, settings.get('dtype', 'float32')
  )


def _adapter(chosen: str) -> Any:
  if chosen == 'scann':
    from realm_tf.index import scann_searcher

    return scann_searcher.ScannSearcher
  if chosen == 'milvus':
    from realm_tf.index import milvus_searcher

    return milvus_searcher.MilvusSearcher
  from realm_tf.index import faiss_searcher

  return faiss_searcher.FaissSearcher


def _is_remote(directory: str) -> bool:
  return '://' in directory


@contextlib.contextmanager
def _local(directory: str) -> Iterator[str]:
  """Gives a local directory with the files of `directory`."""
  if not _is_remote(directory):
    yield directory
    return
  with tempfile.TemporaryDirectory() as local:
    _copy(directory, local)
    yield local


def _copy(source: str, target: str) -> None:
  # Neither library reads or writes anything but local files.
  for name in tf.io.gfile.listdir(source):
    tf.io.gfile.copy(
      os.path.join(source, name), os.path.join(target, name), overwrite=True
    )
