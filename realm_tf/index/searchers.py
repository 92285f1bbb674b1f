"""Builds, tunes, writes and reads the searcher of an index.

An exact searcher has no files: the embeddings and the settings in the manifest
suffice. Searchers are imported when first used, since some load slowly.

An approximate searcher is tuned to a recall. Recall@k is the share of the exact
top k blocks among the k found, as in the benchmark of Aumueller et al. 2018
(https://arxiv.org/abs/1807.05614). No time is measured: the same index and
queries give the same effort on any machine.
"""

from collections.abc import Callable, Iterator, Sequence
import contextlib
import functools
import math
import os
import tempfile
from typing import Any, NamedTuple, TypedDict

from absl import logging
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.data import block_table
from realm_tf.data import masking as masking_lib
from realm_tf.data import sampling
from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib

EXACT_KINDS = ('brute_force', 'device')
_TOP = 10
_LEAVES_RATIO = 1.25  # Between numbers of leaves to try.
# Multiples of k to rescore, up to max(_MOST_RESCORED, _MOST_MULTIPLE * k)
# blocks. Larger numbers would take minutes to try, and large k need fewer.
_MULTIPLES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_RESCORED = 640
_MOST_MULTIPLE = 16
# Blocks scored by codes in the time of rescoring one block.
_BLOCKS_PER_RESCORE = 40
_NUM_QUERIES = 512
_BATCH = 64


# The effort for a tuned k; 'measured', the recall there, may be missing.
class _Effort(TypedDict):
  k: json_text.POSITIVE
  leaves_to_search: json_text.POSITIVE
  num_to_rescore: json_text.COUNT


# The field 'searcher' of an index's manifest.
SHAPE = json_text.object_of(
  {
    'kind': json_text.one_of(*EXACT_KINDS, 'scann', 'milvus'),
    'num_leaves': json_text.optional(json_text.POSITIVE),
    # Until 0.6, 'disk': without rescoring, such an index would find less.
    'vectors': json_text.optional(json_text.one_of(None)),
    'dtype': json_text.optional(json_text.one_of('float32', 'bfloat16')),
    'efforts': json_text.optional(list[_Effort]),
  }
)


class Built(NamedTuple):
  """A searcher and its settings, for the manifest."""

  searcher: interfaces.Searcher
  settings: dict[str, Any]  # Fields of `SHAPE`.


def kind(config: config_lib.IndexConfig, num_blocks: int) -> str:
  """Returns the kind of searcher for `num_blocks` blocks: never 'auto'.

  Blocks too few to train an approximate searcher are searched exactly.
  """
  if config.searcher in EXACT_KINDS:
    return config.searcher
  if num_blocks < searcher_lib.MIN_BLOCKS:
    return 'brute_force'
  if config.searcher == 'auto':
    return 'brute_force' if num_blocks < config.exact_below_blocks else 'scann'
  return config.searcher


def build(
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: Any = None,
  ks: Sequence[int] = (_TOP,),
) -> Built:
  """Builds the config's searcher, and tunes it on `queries`.

  Args:
    embeddings: float32 [N, D]; may be memory-mapped.
    queries: float32 [Q, D], held out; an exact searcher needs none. With a
      recall target of 0 the recall is measured, but the effort is not tuned.
    ks: Numbers of blocks that jobs search for.
  """
  settings: dict[str, Any] = {'kind': kind(config, len(embeddings))}
  if settings['kind'] in EXACT_KINDS:
    if settings['kind'] == 'device' and config.storage_dtype == 'bfloat16':
      settings['dtype'] = 'bfloat16'  # The dtype on disk.
    return Built(_exact(settings, embeddings), settings)
  searcher = _adapter(settings['kind']).build(embeddings, config)
  settings['num_leaves'] = searcher.num_leaves
  return tune(searcher, settings, embeddings, config, queries, ks)


def tune(
  searcher: searcher_lib.ApproximateSearcher,
  settings: dict[str, Any],
  embeddings: np.ndarray,
  config: config_lib.IndexConfig,
  queries: np.ndarray,
  ks: Sequence[int] = (_TOP,),
) -> Built:
  """Returns the approximate searcher with efforts tuned on `queries`.

  Args:
    settings: Its settings so far.
    queries: float32 [Q, D], held out; Q > 0.
    ks: Numbers of blocks that jobs search for; each gets its effort.
  """
  num_blocks, target = len(embeddings), config.recall_target
  ks = sorted({min(k, num_blocks) for k in ks})
  exact = exact_search.BruteForceSearcher(embeddings)
  expected_ids = exact.search(queries, ks[-1]).block_ids
  rows, chosen_of, leaves = [], {}, 1
  for k in ks:
    candidates = [searcher_lib.untuned(config, num_blocks)[1]]
    if target:
      # A larger k needs at least the leaves of a smaller k.
      candidates = efforts(searcher.num_leaves, num_blocks, k, leaves)
    chosen, found = choose(
      searcher, candidates, queries, expected_ids[:, :k], target
    )
    logging.info('Recall@%d is %.4f at %s.', k, found, chosen)
    chosen_of[k], leaves = chosen, chosen.leaves_to_search
    rows.append({'k': k, **chosen._asdict(), 'measured': found})
  settings = {
    **settings,
    'efforts': rows,
    'recall': {'target': target, 'num_queries': len(queries)},
  }
  return Built(searcher_lib.TunedSearcher(searcher, chosen_of), settings)


def recall(found_ids: np.ndarray, expected_ids: np.ndarray) -> float:
  """Returns the share of `expected_ids`, [Q, k], in `found_ids`, [Q, K]."""
  # Row by row: all pairs at once take gigabytes if k is in the thousands.
  hits = sum(
    np.count_nonzero(np.isin(expected, found))
    for found, expected in zip(found_ids, expected_ids, strict=True)
  )
  return float(hits / expected_ids.size)


def efforts(
  num_leaves: int, num_blocks: int, k: int, min_leaves: int = 1
) -> list[searcher_lib.Effort]:
  """Returns the efforts to try for the top `k`, the cheapest first.

  The cost is the number of blocks in the visited leaves, plus
  `_BLOCKS_PER_RESCORE` for each rescored block.

  Args:
    min_leaves: Fewest leaves to try: the number that a smaller k needs.
  """
  leaves, number = [num_leaves], 1
  while number < num_leaves:
    leaves.append(number)
    number = max(number + 1, math.floor(number * _LEAVES_RATIO))
  most = max(_MOST_RESCORED, _MOST_MULTIPLE * k)
  rescores = {min(k * times, most, num_blocks) for times in _MULTIPLES}
  return sorted(
    (
      searcher_lib.Effort(visited, rescored)
      for visited in sorted(leaves)
      for rescored in rescores
      if visited >= min_leaves
    ),
    key=lambda effort: (
      effort.leaves_to_search * (num_blocks / num_leaves)
      + effort.num_to_rescore * _BLOCKS_PER_RESCORE
    ),
  )


def choose(
  searcher: searcher_lib.ApproximateSearcher,
  candidates: Sequence[searcher_lib.Effort],
  queries: np.ndarray,
  expected_ids: np.ndarray,
  target: float,
) -> tuple[searcher_lib.Effort, float]:
  """Returns the first candidate that reaches the target, and its recall.

  If none does, logs a warning and returns the most thorough effort.

  Args:
    candidates: Efforts, the cheapest first.
    queries: float32 [Q, D], held out.
    expected_ids: Exact top k blocks of the queries, [Q, k].
    target: Recall@k, in [0, 1].
  """
  k = expected_ids.shape[1]
  most = max(effort.num_to_rescore for effort in candidates)

  @functools.cache
  def measure(effort: searcher_lib.Effort) -> float:
    found = searcher.search(queries, k, effort)
    return recall(found.block_ids, expected_ids)

  for effort in candidates:
    # Leaves that miss the target with all their hits need no further trial.
    is_within_reach = measure(effort._replace(num_to_rescore=most)) >= target
    if is_within_reach and measure(effort) >= target:
      return effort, measure(effort)
  effort = max(candidates)
  logging.warning(
    'Recall@%d is %.4f at %s, the most thorough search; the target is %.4f. '
    'More leaves may help.',
    k,
    measure(effort),
    effort,
    target,
  )
  return effort, measure(effort)


def sample_queries(
  table: block_table.BlockTable,
  embed: Callable[[np.ndarray], np.ndarray],
  lengths: config_lib.LengthConfig,
  mask_id: int,
  count: int = _NUM_QUERIES,
) -> np.ndarray:
  """Returns the same embedded masked sentences each time, float32 [Q, D].

  They are sentences of the blocks in which a random span is masked, as in
  pre-training (Section 3.4): unmasked ones are easier than any real query.
  """
  rng = np.random.default_rng(0)
  blocks = rng.integers(0, table.num_blocks, count)
  length = lengths.query_tokens - 2
  rows = []
  for block in map(int, blocks):
    row = np.zeros(0, np.int32)
    ends = table.sentence_ends(block)
    if len(ends):
      which = int(rng.integers(len(ends)))
      start, end = int(ends[which - 1]) if which else 0, int(ends[which])
      _, body = table.gather(np.array([block]), 1, end)
      # Cut before masking: the span must be in the sentence that is embedded.
      row = body[0, start:end][:length].copy()
    masked = masking_lib.mask_random_span(len(row), rng, lengths.max_masked)
    row[masked] = mask_id
    rows.append(row)
  sentences = sampling.pad_rows(rows, length)
  return np.concatenate(
    [embed(sentences[i : i + _BATCH]) for i in range(0, count, _BATCH)]
  )


def save(searcher: interfaces.Searcher, directory: str) -> None:
  """Writes the files of a searcher, if it has any, into `directory`."""
  if not hasattr(searcher, 'save'):
    return
  tf.io.gfile.makedirs(directory)
  if '://' not in directory:
    searcher.save(directory)
    return
  with tempfile.TemporaryDirectory() as local:
    searcher.save(local)
    _copy(local, directory)


def load(
  settings: dict[str, Any],
  directory: str,
  embeddings: np.ndarray,
  own_process: bool = False,
) -> interfaces.Searcher:
  """Loads a searcher with its tuned efforts.

  Args:
    directory: Directory that `save` wrote; not read for an exact searcher.
    embeddings: float [N, D] from which the searcher was built.
    own_process: Whether ScaNN runs in a process of its own, since it holds
      Python's lock while it loads.
  """
  if settings['kind'] in EXACT_KINDS:
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
    searcher = _adapter(settings['kind']).load(path, leaves)
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
) -> interfaces.Searcher:
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
