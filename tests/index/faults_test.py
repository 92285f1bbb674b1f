"""Tests a refresher process, and a reader of its indexes, with faults.

The refresher is killed, runs twice, has a full disk or a clock set back. The
reader stands for the trainer: its index must always be exact for one parameter
version.
"""

import glob
import os
import random
import time

from absl.testing import absltest
import numpy as np

from realm_tf.data import block_table
from realm_tf.index import storage
from realm_tf.retrieval import hot_swap
from realm_tf.run import layout
from realm_tf.run import versions
from tests import fakes
from tests import forks
from tests import small_disk
from tests.index import small

_NUM_KILLS = int(os.environ.get('REALM_NUM_KILLS', '6'))
_LENGTHS = (5, 30, 12, 9, 20, 3) * 5  # 30 blocks, so 10 shards of 3.
_SHARD_BLOCKS = 3


class FaultsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.forks = forks.Forks(self.create_tempdir().full_path)
    temp = self.create_tempdir().full_path
    self.corpus_dir = small.write_corpus(temp, _LENGTHS)
    self.table = block_table.BlockTable.open(self.corpus_dir)
    self.fingerprint = self.table.manifest['corpus_fingerprint']
    self.expected = {}  # Step -> embeddings.
    self._make_run(temp)

  def _make_run(self, directory):
    self.run_dir = small.make_run(directory, self.corpus_dir)
    self.index_root = layout.index_root(self.run_dir)
    self.reader = hot_swap.HotSwap(
      lambda: versions.newest(self.index_root),
      lambda version: storage.load(version.path, self.fingerprint),
      submit=fakes.in_foreground,
    )

  def _publish_params(self, step):
    model = small.model(step)
    self.expected[step] = small.embed_all(self.table, model)
    small.publish_params(self.run_dir, step, model)

  def _start(self, *flags, **options):
    return self.forks.start(
      'refresh_index',
      f'--run_dir={self.run_dir}',
      f'--corpus_dir={self.corpus_dir}',
      '--poll_secs=0.01',
      '--once',
      f'--set=index.shard_blocks={_SHARD_BLOCKS}',
      *flags,
      **options,
    )

  def _assert_ends_well(self, *pids):
    codes = [self.forks.wait(pid) for pid in pids]
    self.assertEqual(codes, [0] * len(pids), self.forks.logs()[-3000:])

  def _read(self):
    """Lets the reader load the newest index; checks and returns its step."""
    self.reader.poll()
    self.reader.poll()
    if self.reader.version is not None:
      step = self.reader.version.step
      np.testing.assert_allclose(
        self.reader.current.embeddings, self.expected[step], atol=1e-5
      )
      queries = np.eye(4, dtype=np.float32)
      np.testing.assert_array_equal(
        self.reader.current.searcher.search(queries, 1).block_ids[:, 0],
        self.expected[step].argmax(axis=0),
      )
    return -1 if self.reader.version is None else self.reader.version.step

  def _files(self, pattern='**'):
    return glob.glob(os.path.join(self.index_root, pattern), recursive=True)

  def _unfinished_shards(self):
    """Counts shards of incomplete versions that are claimed but not done."""
    # A kill may leave some tasks of a complete version.
    tasks = [
      path
      for path in self._files('*/work-*/0*')
      if not versions.is_complete(os.path.dirname(os.path.dirname(path)))
    ]
    count = lambda kind: sum(path.endswith(kind) for path in tasks)
    return count('.claim') - count('.done')

  def test_killed_at_random_moments(self):
    rng = random.Random(0)
    step, num_kills, moments = 0, 0, set()
    while num_kills < _NUM_KILLS:
      step += 500
      self._publish_params(step)
      while self._read() != step:
        pid = self._start()
        # Each shard adds three files (claim, shard and `done`): a kill can
        # come after any of them.
        until = len(self._files()) + rng.randrange(1, 14)
        while len(self._files()) < until and self._newest_step() != step:
          time.sleep(0.001)
        if self._newest_step() != step:
          num_kills += 1
          moments.add(len(self._files()))
        self.forks.kill(pid)
        self.assertLessEqual(self._unfinished_shards(), 1)
        self._read()
    self.assertGreater(len(moments), _NUM_KILLS // 3)

  def _newest_step(self):
    newest = versions.newest(self.index_root)
    return newest.step if newest else -1

  def test_workers_share_a_refresh_and_a_clock_set_back_changes_nothing(self):
    self._publish_params(500)
    self._assert_ends_well(
      *(self._start(f'--worker={k}', '--num_workers=3') for k in range(3))
    )
    self.assertEqual(self._read(), 500)
    writers = {
      os.path.basename(path).split('-', 2)[2].rsplit('-', 2)[0]
      for path in self._files('*/embeddings-*')
    }
    self.assertGreater(len(writers), 1)
    self._publish_params(1000)
    pid = self._start(clock_offset=-1e6)
    while not self._files('000001000/work-*/*.done'):
      time.sleep(0.001)
    self.forks.kill(pid)
    self._assert_ends_well(self._start(clock_offset=-2e6))
    self.assertEqual(self._read(), 1000)

  def test_a_full_disk_is_one_error_line_and_a_restart_works(self):
    disk = self.create_tempdir().full_path
    small_disk.mount(self, disk)
    self._make_run(disk)
    self._publish_params(500)
    self._assert_ends_well(self._start())
    self.assertEqual(self._read(), 500)
    self._publish_params(1000)
    filler = small_disk.fill(disk)
    code = self.forks.wait(self._start())
    self.assertEqual(code, 2, self.forks.logs()[-3000:])
    self.assertRegex(self.forks.logs(), r'ERROR: The index of .* Fix that')
    self.assertEqual(self._read(), 500)
    os.remove(filler)
    self._assert_ends_well(self._start())
    self.assertEqual(self._read(), 1000)


if __name__ == '__main__':
  absltest.main()
