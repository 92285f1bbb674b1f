"""Which searcher an index has: building, writing and reading it by its kind.

  embeddings + config (+ held-out queries) -> [this file] -> searcher, settings

The settings are what searching needs besides the searcher's files: JSON-able,
for the manifest of an index version. An exact searcher has no files; it is made
of the embeddings. Searchers are imported when first needed: some load slowly.
"""

from collections.abc import Iterator
import contextlib
import os
import tempfile
from typing import Any, NamedTuple, Optional

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.index import brute_force
from realm_tf.index import scann_process
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import tuning

_EXACT = ('brute_force', 'device')
_MIN_BLOCKS = 16  # Codebooks of 4 bits are trained on no fewer points.


class Built(NamedTuple):
  """A searcher and how it was made.

  Attributes:
    searcher: Ready to search, as tuned.
    settings: 'kind'; of an approximate one also 'num_leaves',
      'leaves_to_search', 'num_to_rescore' and, if queries were given, 'recall'
      with 'k', 'target', 'measured' and 'num_queries'.
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
  if num_blocks < _MIN_BLOCKS:
    return 'brute_force'
  if config.searcher == 'auto':
    return 'brute_force' if num_blocks < config.exact_below_blocks else 'scann'
  return config.searcher


def is_exact(chosen: str) -> bool:
  """Returns whether searchers of a kind find the exact top blocks."""
  return chosen in _EXACT


def build(
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: Optional[np.ndarray] = None,
) -> Built:
  """Builds the searcher of the config, and tunes it on `queries`.

  Args:
    embeddings: float32 [N, D]; may be memory-mapped.
    config: Which searcher.
    queries: float32 [Q, D], held out; without them, or with a target of 0, the
      effort is that of the config.

  Raises:
    UserError: The searcher's package is not installed.
  """
  chosen = kind(config, len(embeddings))
  if is_exact(chosen):
    settings = {'kind': chosen}
    if chosen == 'device' and config.storage_dtype == 'bfloat16':
      settings['dtype'] = 'bfloat16'  # More would add nothing to them.
    return Built(_exact(settings, embeddings), settings)
  searcher = _adapter(chosen).build(embeddings, config)
  built = Built(searcher, _settings(chosen, searcher))
  if queries is None or not len(queries):
    return built
  return tune(built, embeddings, config, queries)


def tune(
  built: Built,
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: np.ndarray,
) -> Built:
  """Returns an approximate searcher with the effort that `queries` need.

  Args:
    built: From `build`.
    embeddings: float32 [N, D] that it was built of.
    config: With the target; 0 keeps the effort, and only measures.
    queries: float32 [Q, D], held out; at least one.
  """
  searcher = built.searcher
  expected = tuning.exact_ids(embeddings, queries)
  if config.recall_target:
    candidates = tuning.efforts(searcher.num_leaves, len(embeddings))
  else:
    candidates = [searcher.effort]
  choice = tuning.choose(
    searcher, candidates, queries, expected, config.recall_target
  )
  logging.info(
    'Recall@%d is %.4f at %s, of %d leaves; %d efforts were measured.',
    expected.shape[1],
    choice.recall,
    choice.effort,
    searcher.num_leaves,
    choice.num_tried,
  )
  searcher = searcher.with_effort(choice.effort)
  recall = {
    'k': expected.shape[1],
    'target': config.recall_target,
    'measured': choice.recall,
    'num_queries': len(queries),
  }
  settings = _settings(built.settings['kind'], searcher)
  return Built(searcher, {**settings, 'recall': recall})


def save(searcher: searcher_lib.Searcher, directory: str) -> bool:
  """Writes a searcher's files into `directory`; returns whether it has any.

  Args:
    searcher: From `build` or `load`.
    directory: Anywhere tf.io.gfile writes; it is made if there are files.
  """
  if not isinstance(searcher, searcher_lib.ApproximateSearcher):
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
    settings: Of `Built`.
    directory: What `save` wrote into; not looked at for an exact searcher.
    embeddings: float [N, D] that it was built of.
    own_process: Whether one that would hold Python's lock while it loads gets
      a process of its own; see `scann_process`.

  Raises:
    UserError: The searcher's package is not installed.
  """
  if is_exact(settings['kind']):
    return _exact(settings, embeddings)
  effort = searcher_lib.Effort(
    settings['leaves_to_search'], settings['num_to_rescore']
  )
  if own_process and settings['kind'] == 'scann':
    adapter = scann_process.ScannProcess
  else:
    adapter = _adapter(settings['kind'])
  with _local(directory) as path:
    return adapter.load(path, settings['num_leaves'], effort)


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
