"""Builds, tunes, writes and reads the searcher of an index, by its kind.

  embeddings + config (+ held-out queries) -> [this file] -> searcher, settings

The settings are what searching needs besides the searcher's files: JSON-able,
for the manifest of an index version. An exact searcher has no files; it is made
of the embeddings. Searchers are imported when first needed: some load slowly.
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
from realm_tf.index import brute_force
from realm_tf.index import disk_rescoring
from realm_tf.index import scann_process
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searcher_settings
from realm_tf.index import tuned_searcher
from realm_tf.index import tuning

_TOP = searcher_settings.DEFAULT_TOP


class Built(NamedTuple):
  """A searcher and how it was made.

  Attributes:
    searcher: Ready to search, as tuned.
    settings: 'kind'; of an approximate one also 'num_leaves', 'vectors' if
      they are on 'disk', and either
      'leaves_to_search' and 'num_to_rescore', or, if queries were given,
      'efforts', a list by ascending 'k' of these two and the recall
      'measured', and 'recall' with its 'target' and 'num_queries'.
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
  return chosen in searcher_settings.EXACT_KINDS


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
    ks: Numbers of blocks that will be asked for, ascending.

  Raises:
    UserError: The searcher's package is not installed.
  """
  chosen = kind(config, len(embeddings))
  if is_exact(chosen):
    settings = {'kind': chosen}
    if chosen == 'device' and config.storage_dtype == 'bfloat16':
      settings['dtype'] = 'bfloat16'  # They are stored in no more bits.
    return Built(_exact(settings, embeddings), settings)
  searcher = _adapter(chosen).build(embeddings, config)
  settings = _settings(chosen, searcher)
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
    embeddings: float32 [N, D] that it was built of.
    config: Recall target; 0 keeps the effort, and only measures.
    queries: float32 [Q, D], held out; at least one.
    ks: Numbers of blocks that will be asked for, ascending; each is tuned for.
  """
  searcher: searcher_lib.ApproximateSearcher = built.searcher
  num_blocks = len(embeddings)
  ks = sorted({min(k, num_blocks) for k in ks})
  expected = tuning.exact_ids(embeddings, queries, ks[-1])
  efforts, rows, leaves = {}, [], 1
  for k in ks:
    candidates = [searcher.effort]
    if config.recall_target:
      # What is too few for less is too few for more.
      candidates = tuning.efforts(searcher.num_leaves, num_blocks, k, leaves)
    choice = tuning.choose(
      searcher, candidates, queries, expected[:, :k], config.recall_target
    )
    efforts[k], leaves = choice.effort, choice.effort.leaves_to_search
    rows.append({'k': k, **choice.effort._asdict(), 'measured': choice.recall})
    logging.info(
      'Recall@%d is %.4f at %s, of %d leaves; %d efforts were measured.',
      k,
      choice.recall,
      choice.effort,
      searcher.num_leaves,
      choice.num_tried,
    )
  kept = ('kind', 'num_leaves', 'vectors')
  settings = {
    **{key: built.settings[key] for key in kept if key in built.settings},
    'efforts': rows,
    'recall': {'target': config.recall_target, 'num_queries': len(queries)},
  }
  return Built(tuned_searcher.TunedSearcher(searcher, efforts), settings)


def save(searcher: searcher_lib.Searcher, directory: str) -> bool:
  """Writes a searcher's files into `directory`; returns whether it has any."""
  kinds = searcher_lib.ApproximateSearcher, tuned_searcher.TunedSearcher
  if not isinstance(searcher, kinds):
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
    settings: Settings of `Built`.
    directory: Directory that `save` wrote; not read for an exact searcher.
    embeddings: float [N, D] that it was built of.
    own_process: Whether ScaNN, which holds Python's lock while it loads, gets
      a process of its own; see `scann_process`.

  Raises:
    UserError: The searcher's package is not installed.
  """
  if is_exact(settings['kind']):
    return _exact(settings, embeddings)
  efforts = searcher_settings.efforts(settings, directory)
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
  return tuned_searcher.TunedSearcher(searcher, efforts)


def publish(settings: dict[str, Any], directory: str, name: str) -> None:
  """Makes a saved searcher the one that a server's other users find.

  Args:
    settings: Settings of `Built`.
    directory: Directory that `save` wrote.
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


def _exact(settings, embeddings):
  if settings['kind'] == 'brute_force':
    return brute_force.BruteForceSearcher(embeddings)
  from realm_tf.index import device_searcher

  return device_searcher.DeviceSearcher(
    embeddings, settings.get('dtype', 'float32')
  )


def _adapter(chosen):
  if chosen == 'scann':
    from realm_tf.index import scann_searcher

    return scann_searcher.ScannSearcher
  if chosen == 'milvus':
    from realm_tf.index import milvus_searcher

    return milvus_searcher.MilvusSearcher
  from realm_tf.index import faiss_searcher

  return faiss_searcher.FaissSearcher


def _settings(chosen, searcher):
  return {
    'kind': chosen,
    'num_leaves': searcher.num_leaves,
    **searcher.effort._asdict(),
  }


def _is_remote(directory):
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


def _copy(source, target):
  # Neither library reads or writes anything but local files.
  for name in tf.io.gfile.listdir(source):
    tf.io.gfile.copy(
      os.path.join(source, name), os.path.join(target, name), overwrite=True
    )
