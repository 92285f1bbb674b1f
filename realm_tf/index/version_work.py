"""Shares the building of one index version among workers.

Each shard is a task; the last task completes the version. Workers coordinate in
a folder of the version, so a worker that starts after a crash goes on.
"""

from collections.abc import Callable
import os
import sys
import time
from typing import NamedTuple
import uuid

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf import json_text
from realm_tf.index import embedding_shards
from realm_tf.index import storage
from realm_tf.run import manifests
from realm_tf.run import shared_work
from realm_tf.run import versions

# (block ids int64 [n], progress(number embedded)) -> float32 [n, D].
EmbedRows = Callable[[np.ndarray, Callable[[int], None]], np.ndarray]
_COMPLETE = 'complete'  # The last task.
_RESULT = {
  **json_text.fields_of(embedding_shards.Shard),
  'sha256': json_text.SHA256,
}


class Job(NamedTuple):
  """One worker's part of the work.

  Attributes:
    number: Number of this worker, from 0. The worker begins with shards
      `number`, `number` + `num_workers`, ...
    num_workers: Expected workers; the others do the shards of a missing one.
    takeover_secs: Seconds of silence after which another worker is dead.
    wait: Called while other workers do all remaining tasks.
    watch: Called with the numbers of embedded blocks and of all blocks.
    ends_overtaken: Whether to stop once a newer version is complete.
  """

  number: int = 0
  num_workers: int = 1
  takeover_secs: float = 60.0
  wait: Callable[[], None] = lambda: time.sleep(1.0)
  watch: Callable[[int, int], None] = lambda done, total: None
  ends_overtaken: bool = False


ALONE = Job()


class Progress:
  """Shows how many blocks are embedded; an instance is a `Job.watch`."""

  def __init__(self) -> None:
    self._bar: tqdm.tqdm | None = None

  def __call__(self, done: int, total: int) -> None:
    """Shows that all workers have embedded `done` of `total` blocks."""
    if self._bar is None or done < self._bar.n:  # Another version.
      self._bar = tqdm.tqdm(
        total=total,
        initial=done,
        desc='embedding blocks',
        unit='block',
        mininterval=5,
        file=sys.stdout,  # stderr is for mistakes.
      )
    self._bar.update(done - self._bar.n)
    if done >= total:
      self._bar.close()
      self._bar = None


class VersionWork:
  """One worker's part in building a version."""

  def __init__(
    self, version: versions.Version, plan: storage.Plan, job: Job = ALONE
  ):
    self._version = version
    self._plan = plan
    self._job = job
    self._directory = os.path.join(version.path, f'work-{plan.name}')
    worker = shared_work.this_worker()
    self._name = worker.name
    self._tasks = shared_work.SharedWork(
      self._directory, worker, job.takeover_secs
    )
    self._names = [f'{shard:05d}' for shard in range(plan.num_shards)]

  def run(
    self,
    embed_rows: EmbedRows,
    complete: Callable[[list[embedding_shards.Shard], str], None],
  ) -> bool:
    """Works until the version is complete; returns False if overtaken.

    Args:
      complete: Writes the manifest, given all shards and a unique part for
        names of files.
    """
    path, job = self._version.path, self._job
    root, step = os.path.dirname(path), self._version.step
    has_completed = False
    try:
      with self._tasks.beating():
        while not versions.is_complete(path):
          if job.ends_overtaken and versions.newest(root, above=step):
            return False
          task = self._tasks.claim(self._next_tasks())
          if task is None:
            job.wait()
          elif task != _COMPLETE:
            self._embed(task, embed_rows)
          else:
            results = self._tasks.results(self._names, _RESULT)
            shards = [
              embedding_shards.Shard(*(result[name] for name in _RESULT))
              for result in results
            ]
            complete(shards, self._unique_name())
            has_completed = True
      if has_completed:
        manifests.remove_tree(self._directory)
    except (tf.errors.NotFoundError, tf.errors.FailedPreconditionError):
      # Another worker completed the version and is removing the folder.
      if not versions.is_complete(path):
        raise
    return True

  def _next_tasks(self) -> list[str]:
    """Returns this worker's shards, then the others' in reverse; or the last.

    Fast workers thus help slow ones from the end, and rarely choose the same
    shard.
    """
    if self._tasks.num_done(self._names) == len(self._names):
      return [_COMPLETE]
    number, num_workers = self._job.number, self._job.num_workers
    own = range(number, len(self._names), num_workers)
    others = (i for i in reversed(range(len(self._names))) if i not in own)
    return [self._names[shard] for shard in (*own, *others)]

  def make_shard(self, shard: int, embed_rows: EmbedRows) -> None:
    """Embeds a shard unless it is done, for a caller that distributes shards.

    No claim is taken, so a retry does not wait for a dead worker. If two
    workers make a shard, the first counts.
    """
    if not self._tasks.num_done([self._names[shard]]):
      self._embed(self._names[shard], embed_rows)

  def _embed(self, task: str, embed_rows: EmbedRows) -> None:
    rows = self._plan.shard_rows(int(task))
    total = self._plan.num_blocks
    done = self._tasks.num_done(self._names) * self._plan.shard_blocks

    def progress(count: int) -> None:
      nonlocal done
      done += count
      self._job.watch(min(done, total), total)

    shard = embedding_shards.write(
      self._version.path,
      f'embeddings-{task}-{self._unique_name()}.npy',
      embed_rows(np.arange(rows.start, rows.stop), progress),
      self._plan.storage_dtype,
      rows.start,
    )
    if not self._tasks.finish(task, shard._asdict()):
      tf.io.gfile.remove(os.path.join(self._version.path, shard.file))

  def _unique_name(self) -> str:
    """Returns a new part of a file name, as a worker may repeat a task."""
    return f'{self._name}-{uuid.uuid4().hex[:6]}'
