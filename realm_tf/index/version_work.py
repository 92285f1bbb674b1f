"""Shares the building of one index version among workers.

Each shard is a task, and the last task completes the version. Any number of
workers share them through the version's directory; one that starts again after
a crash takes up what is left.
"""

from collections.abc import Callable, Iterator, Sequence
import os
import time
from typing import NamedTuple, Optional
import uuid

import numpy as np
import tensorflow as tf

from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.rundir import json_shapes
from realm_tf.rundir import listed_files
from realm_tf.rundir import shared_work
from realm_tf.rundir import versions
from realm_tf.rundir import workers

_COMPLETE = 'complete'  # The last task.
# Of an `embedding_shards.Shard`.
_RESULT = {
  'file': json_shapes.TEXT,
  'num_blocks': json_shapes.COUNT,
  'size': json_shapes.COUNT,
  'sha256': json_shapes.SHA256,
}


class Job(NamedTuple):
  """One worker's part of the work.

  Attributes:
    worker: Worker's identity; by default a new one.
    number: Number of this worker, from 0; it begins with shards `number`,
      `number` + `num_workers`, ...
    num_workers: Expected workers; the work is done even if some are missing.
    takeover_secs: Timeout of `shared_work.SharedWork`.
    wait: Called while other workers do all that is left.
    watch: Called with the numbers of embedded blocks and of all blocks.
    is_overtaken: Returns whether the version of a step is wanted no more.
    base: Path of an index version whose embeddings must be reused.
  """

  worker: Optional[workers.Worker] = None
  number: int = 0
  num_workers: int = 1
  takeover_secs: float = 60.0
  wait: Callable[[], None] = lambda: time.sleep(1.0)
  watch: Callable[[int, int], None] = lambda done, total: None
  is_overtaken: Callable[[int], bool] = lambda step: False
  base: Optional[str] = None


ALONE = Job()

# (block ids int64 [n], progress) -> float32 [n, D].
EmbedRows = Callable[[np.ndarray, Callable[[int], None]], np.ndarray]
# (shards, name) -> writes what `storage.complete` writes.
Complete = Callable[[Sequence[embedding_shards.Shard], str], None]


def run(
  version: versions.Version,
  plan: index_plan.Plan,
  job: Job,
  embed_rows: EmbedRows,
  complete: Complete,
) -> bool:
  """Works until the version is complete.

  Returns:
    False if it was overtaken.
  """
  worker = job.worker or workers.this_worker()
  directory = os.path.join(version.path, f'work-{plan.name}')
  try:
    work = shared_work.SharedWork(directory, worker, job.takeover_secs)
    making = _Making(version, plan, job, work, embed_rows, complete)
    with work.beating():
      while not versions.is_complete(version.path):
        if job.is_overtaken(version.step):
          return False
        if not making.do_next():
          job.wait()
    if making.has_completed:
      listed_files.remove_tree(directory)
  except (tf.errors.NotFoundError, tf.errors.FailedPreconditionError):
    # Another one may have completed it, too, and clear up at the same time.
    if not versions.is_complete(version.path):
      raise
  return True


def make_shard(
  version: versions.Version,
  plan: index_plan.Plan,
  shard: int,
  embed_rows: EmbedRows,
) -> None:
  """Makes one shard unless it is done, for a caller that shares out the shards.

  It takes no claim: a retry must not wait for a worker that died, and if two
  workers make one shard, the first counts.
  """
  job = Job(worker=workers.this_worker())
  directory = os.path.join(version.path, f'work-{plan.name}')
  work = shared_work.SharedWork(directory, job.worker, job.takeover_secs)
  if not work.num_done([_name(shard)]):
    _Making(version, plan, job, work, embed_rows, None).embed(_name(shard))


def take_rows(
  embeddings: np.ndarray, block_ids: np.ndarray, progress: Callable[[int], None]
) -> np.ndarray:
  """Returns a shard's rows, float32 [n, D], of embeddings [N, D]."""
  rows = embeddings[int(block_ids[0]) : int(block_ids[-1]) + 1]
  progress(len(rows))
  return np.asarray(rows, np.float32)


class _Making:
  """One worker's tasks; see `run`."""

  def __init__(self, version, plan, job, work, embed_rows, complete):
    self._version = version
    self._plan = plan
    self._job = job
    self._work = work
    self._embed_rows = embed_rows
    self._complete = complete
    self._tasks = {_name(i): i for i in range(plan.num_shards)}
    self._order = [
      _name(i) for i in _order(plan.num_shards, job.number, job.num_workers)
    ]
    self.has_completed = False

  def do_next(self) -> bool:
    """Does a task; returns False if other workers do all that are left."""
    task = self._work.take(self._order)
    if task is not None:
      self.embed(task)
      return True
    if self._work.num_done(self._tasks) < len(self._tasks):
      return False
    if self._work.take([_COMPLETE]) is None:
      return False
    shards = [
      embedding_shards.Shard(*(result[name] for name in _RESULT))
      for result in self._work.results(self._tasks, _RESULT)
    ]
    self._complete(shards, _unique(self._work.worker_name))
    self.has_completed = True
    return True

  def embed(self, task: str) -> None:
    """Embeds a shard and writes its file and its result."""
    rows = self._plan.shard_rows(self._tasks[task])
    total = self._plan.num_blocks
    done = self._work.num_done(self._tasks) * self._plan.shard_blocks

    def progress(count):
      nonlocal done
      done += count
      self._job.watch(min(done, total), total)

    embeddings = self._embed_rows(np.arange(rows.start, rows.stop), progress)
    path = self._version.path
    shard = embedding_shards.write(
      path,
      f'embeddings-{task}-{_unique(self._work.worker_name)}.npy',
      embeddings,
      self._plan.storage_dtype,
      rows.start,
    )
    if not self._work.finish(task, shard._asdict()):
      tf.io.gfile.remove(os.path.join(path, shard.file))


def _order(num_shards: int, number: int, num_workers: int) -> Iterator[int]:
  """Yields all shards: this worker's, then the others', last ones first.

  Workers meet late, and none is idle while another lags behind.
  """
  own = range(number, num_shards, num_workers)
  yield from own
  yield from (i for i in reversed(range(num_shards)) if i not in own)


def _name(shard):
  return f'{shard:05d}'


def _unique(worker_name):
  """Returns a file name's part; a worker may do a task again."""
  return f'{worker_name}-{uuid.uuid4().hex[:6]}'
