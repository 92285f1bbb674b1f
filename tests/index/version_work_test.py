"""Tests for realm_tf.index.version_work: crashes, several workers."""

import os
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.index import embedding_shards
from realm_tf.index import index_plan
from realm_tf.index import version_work
from realm_tf.rundir import shared_work
from realm_tf.rundir import versions
from realm_tf.rundir import workers

_PLAN = index_plan.Plan(
  corpus_fingerprint='c',
  num_blocks=10,
  params_fingerprint='p',
  embedder_fingerprint='e',
  block_tokens=288,
  title_tokens=32,
  embed_dtype='float32',
  storage_dtype='float32',
  shard_blocks=4,  # Shards of 4, 4 and 2.
)


class _Crash(Exception):
  """Stands for SIGKILL: nothing in the code under test catches it."""


def _dead_worker(name):
  # A process number that is no process: as if it had been killed.
  return workers.this_worker()._replace(name=name, process='0 0')


class VersionWorkTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    path = os.path.join(self.create_tempdir().full_path, '000000500')
    os.makedirs(path)
    self.version = versions.Version(500, path)
    self.embedded = []  # (worker, first block) of each shard, in order.
    self.completed = []  # Workers.

  def _run(self, name='x', **job):
    def embed_rows(block_ids, progress):
      progress(len(block_ids))
      self.embedded.append((name, int(block_ids[0])))
      return np.stack([block_ids, -block_ids], axis=1).astype(np.float32)

    def complete(shards, unique):
      self.assertStartsWith(unique, name)
      self.completed.append(name)
      self.shards = shards
      versions.seal(self.version.path, 500, {}, {})

    job.setdefault('worker', _dead_worker(name))
    job.setdefault('wait', lambda: self.fail('Nothing to wait for.'))
    return version_work.run(
      self.version, _PLAN, version_work.Job(**job), embed_rows, complete
    )

  def _work_dir(self):
    return os.path.join(self.version.path, f'work-{_PLAN.name}')

  def test_another_may_clear_up_at_the_same_time(self):
    seal = versions.seal

    def seal_and_clear_up(*args):
      seal(*args)
      shutil.rmtree(self._work_dir())

    with mock.patch.object(versions, 'seal', seal_and_clear_up):
      self.assertTrue(self._run())
    self.assertEqual(self.completed, ['x'])

  @parameterized.parameters(True, False)
  def test_a_late_worker_finds_the_work_cleared_up(self, is_complete):
    beat = shared_work.SharedWork.beat

    def complete_first(work):
      if is_complete:
        versions.seal(self.version.path, 500, {}, {})
      shutil.rmtree(self._work_dir())
      beat(work)

    with mock.patch.object(shared_work.SharedWork, 'beat', complete_first):
      if is_complete:
        self.assertTrue(self._run())
      else:  # Then it is no business of another worker.
        with self.assertRaises(tf.errors.NotFoundError):
          self._run()
    self.assertEmpty(self.embedded)

  def _embeddings(self):
    return np.asarray(
      embedding_shards.Embeddings(self.version.path, self.shards, 'float32')
    )

  def test_embeds_all_shards_and_completes(self):
    seen = []
    self.assertTrue(self._run(watch=lambda *counts: seen.append(counts)))
    self.assertEqual(self.embedded, [('x', 0), ('x', 4), ('x', 8)])
    np.testing.assert_array_equal(self._embeddings()[:, 0], np.arange(10))
    self.assertEqual(seen, [(4, 10), (8, 10), (10, 10)])
    # The tasks are cleared up; the shards and the manifest stay.
    self.assertLen(os.listdir(self.version.path), 4)

  def test_a_complete_version_is_left_alone(self):
    self._run()
    self.embedded.clear()
    self.assertTrue(self._run('y'))
    self.assertEmpty(self.embedded)

  @parameterized.parameters(*range(3))
  def test_after_a_crash_only_the_shard_at_hand_is_done_twice(self, at):
    def crash(block_ids, progress):
      del progress
      if len(self.embedded) == at:
        raise _Crash
      self.embedded.append(('x', int(block_ids[0])))
      return np.stack([block_ids, -block_ids], axis=1).astype(np.float32)

    with self.assertRaises(_Crash):
      version_work.run(
        self.version,
        _PLAN,
        version_work.Job(worker=_dead_worker('x')),
        crash,
        lambda shards, name: self.fail('Not all are embedded.'),
      )
    self._run('y')
    self.assertEqual([first for _, first in self.embedded], [0, 4, 8])
    self.assertEqual(
      [who for who, _ in self.embedded], ['x'] * at + ['y'] * (3 - at)
    )
    np.testing.assert_array_equal(self._embeddings()[:, 0], np.arange(10))

  def test_after_a_crash_while_completing_nothing_is_embedded_again(self):
    def crash(shards, name):
      del shards, name
      raise _Crash

    with self.assertRaises(_Crash):
      version_work.run(
        self.version,
        _PLAN,
        version_work.Job(worker=_dead_worker('x')),
        lambda ids, progress: np.zeros([len(ids), 2], np.float32),
        crash,
      )
    self._run('y')
    self.assertEmpty(self.embedded)
    self.assertEqual(self.completed, ['y'])

  def test_workers_share_the_shards(self):
    # While the first embeds its first shard, the second does all it can.
    def wait():
      raise _Crash  # It would wait for the first.

    def embed_rows(block_ids, progress):
      del progress
      if int(block_ids[0]) == 0:
        with self.assertRaises(_Crash):
          self._run(
            'y',
            worker=workers.this_worker()._replace(name='y'),
            number=1,
            num_workers=2,
            wait=wait,
          )
      self.embedded.append(('x', int(block_ids[0])))
      return np.stack([block_ids, -block_ids], axis=1).astype(np.float32)

    version_work.run(
      self.version,
      _PLAN,
      version_work.Job(
        workers.this_worker()._replace(name='x'), number=0, num_workers=2
      ),
      embed_rows,
      lambda shards, name: versions.seal(self.version.path, 500, {}, {}),
    )
    self.assertEqual(self.embedded, [('y', 4), ('y', 8), ('x', 0)])

  def test_a_worker_begins_with_its_own_shards(self):
    self._run(number=1, num_workers=2)
    self.assertEqual([first for _, first in self.embedded], [4, 8, 0])

  def test_waits_for_the_others_and_takes_over_from_the_dead(self):
    work = shared_work.SharedWork(
      os.path.join(self.version.path, f'work-{_PLAN.name}'),
      workers.this_worker()._replace(name='other'),
      60.0,
    )
    work.take(['00001'])
    waits = []

    def wait():
      waits.append([first for _, first in self.embedded])
      path = pathlib.Path(
        self.version.path, f'work-{_PLAN.name}', '00001.claim'
      )
      path.write_text(path.read_text().replace('"process": "', '"process": "0'))

    self._run(wait=wait)
    self.assertEqual(waits, [[0, 8]])
    self.assertEqual([first for _, first in self.embedded], [0, 8, 4])

  def test_is_left_when_overtaken(self):
    overtaken = iter([False, True])
    self.assertFalse(self._run(is_overtaken=lambda step: next(overtaken)))
    self.assertLen(self.embedded, 1)
    self.assertEmpty(self.completed)

  def test_a_version_that_another_completed_meanwhile_is_done(self):
    def embed_rows(block_ids, progress):
      del progress
      if int(block_ids[0]) == 4:
        self._run('y')  # It does all, and clears up.
      return np.stack([block_ids, -block_ids], axis=1).astype(np.float32)

    self.assertTrue(
      version_work.run(
        self.version,
        _PLAN,
        version_work.Job(worker=_dead_worker('x')),
        embed_rows,
        lambda shards, name: self.fail('It is complete already.'),
      )
    )
    self.assertEqual(self.completed, ['y'])
    np.testing.assert_array_equal(self._embeddings()[:, 0], np.arange(10))


if __name__ == '__main__':
  absltest.main()
