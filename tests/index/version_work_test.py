"""Tests for realm_tf.index.version_work: crashes and several workers."""

import contextlib
import io
import os
import pathlib
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import msgspec
import numpy as np
import tensorflow as tf

from realm_tf.index import embedding_shards
from realm_tf.index import storage
from realm_tf.index import version_work
from realm_tf.run import shared_work
from realm_tf.run import versions

_PLAN = storage.Plan(
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
  """An error in the middle of a task."""


class VersionWorkTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    path = os.path.join(self.create_tempdir().full_path, '000000500')
    os.makedirs(path)
    self.version = versions.Version(500, path)
    self.work_dir = os.path.join(path, f'work-{_PLAN.name}')
    self.embedded = []  # (worker, first block) of each shard, in order.
    self.completed = []  # Workers that completed the version.

  def _run(self, name='x', before=None, complete=None, **job):
    """Runs a worker; calls `before` with each shard's first block."""

    def embed_rows(block_ids, progress):
      first = int(block_ids[0])
      if before is not None:
        before(first)
      progress(len(block_ids))
      self.embedded.append((name, first))
      return np.stack([block_ids, -block_ids], axis=1).astype(np.float32)

    def seal(shards, unique):
      self.assertStartsWith(unique, name)
      self.completed.append(name)
      self.shards = shards
      versions.seal(self.version.path, 500, {}, {})

    job.setdefault('wait', lambda: self.fail('Nothing to wait for.'))
    worker = msgspec.structs.replace(shared_work.this_worker(), name=name)
    with mock.patch.object(shared_work, 'this_worker', return_value=worker):
      work = version_work.VersionWork(
        self.version, _PLAN, version_work.Job(**job)
      )
    return work.run(embed_rows, complete or seal)

  def _assert_whole(self):
    embeddings = embedding_shards.Embeddings(
      self.version.path, self.shards, 'float32'
    )
    np.testing.assert_array_equal(embeddings[:][:, 0], np.arange(10))

  def test_embeds_all_shards_and_completes(self):
    seen = []
    self.assertTrue(self._run(watch=lambda *counts: seen.append(counts)))
    self.assertEqual(self.embedded, [('x', 0), ('x', 4), ('x', 8)])
    self._assert_whole()
    self.assertEqual(seen, [(4, 10), (8, 10), (10, 10)])
    # The tasks are removed; three shards and the manifest stay.
    self.assertLen(os.listdir(self.version.path), 4)
    self.assertTrue(self._run('y'))  # A complete version is unchanged.
    self.assertLen(self.embedded, 3)

  @parameterized.parameters(*range(3))
  def test_after_an_error_only_unfinished_shards_are_embedded(self, at):
    def crash(first):
      if first == 4 * at:
        raise _Crash

    with self.assertRaises(_Crash):
      self._run(before=crash)
    self._run()
    self.assertEqual(self.embedded, [('x', 4 * i) for i in range(3)])
    self._assert_whole()

  def test_workers_share_the_shards(self):
    # While the first worker embeds its first shard, the second embeds all
    # others and then waits.
    def do_others(first):
      if first == 0:
        with self.assertRaises(_Crash):
          self._run(
            'y', number=1, num_workers=2, wait=mock.Mock(side_effect=_Crash)
          )

    self._run(before=do_others, number=0, num_workers=2)
    self.assertEqual(self.embedded, [('y', 4), ('y', 8), ('x', 0)])

  def test_waits_for_other_workers_and_takes_over_from_dead_ones(self):
    other = shared_work.SharedWork(
      self.work_dir,
      msgspec.structs.replace(shared_work.this_worker(), name='other'),
      60.0,
    )
    other.claim(['00001'])
    waits = []

    def wait():
      waits.append([first for _, first in self.embedded])
      claim = pathlib.Path(self.work_dir, '00001.claim')
      # A process id of no process, as if the worker had been killed.
      text = claim.read_text().replace('"process": ', '"process": 9999')
      claim.write_text(text)

    self._run(wait=wait)
    self.assertEqual(waits, [[0, 8]])
    self.assertEqual([first for _, first in self.embedded], [0, 8, 4])

  @parameterized.parameters(True, False)
  def test_an_overtaken_version_is_left_on_request(self, ends_overtaken):
    def publish_newer(first):
      if first == 4:
        newer = versions.version_path(os.path.dirname(self.version.path), 501)
        os.makedirs(newer)
        versions.seal(newer, 501, {}, {})

    is_complete = self._run(before=publish_newer, ends_overtaken=ends_overtaken)
    self.assertEqual(is_complete, not ends_overtaken)
    self.assertLen(self.embedded, 2 if ends_overtaken else 3)

  def test_another_worker_may_complete_the_version_first(self):
    def do_all(first):
      if first == 4:
        claim = pathlib.Path(self.work_dir, '00001.claim')
        claim.unlink()
        self._run('y')  # 'y' also removes the tasks.

    self.assertTrue(self._run(before=do_all))
    self.assertEqual(self.completed, ['y'])
    self._assert_whole()

  def test_another_worker_may_remove_the_tasks_first(self):
    def complete(shards, unique):
      versions.seal(self.version.path, 500, {}, {})
      shutil.rmtree(self.work_dir)

    self.assertTrue(self._run(complete=complete))

  @parameterized.parameters(True, False)
  def test_a_late_worker_may_find_no_tasks(self, is_complete):
    beat = shared_work.SharedWork.beat

    def clear_up_first(work):
      if is_complete:
        versions.seal(self.version.path, 500, {}, {})
      shutil.rmtree(self.work_dir)
      beat(work)

    with mock.patch.object(shared_work.SharedWork, 'beat', clear_up_first):
      if is_complete:
        self.assertTrue(self._run())
      else:  # No other worker removes the tasks of an incomplete version.
        with self.assertRaises(tf.errors.NotFoundError):
          self._run()
    self.assertEmpty(self.embedded)

  def test_a_shard_that_is_done_is_not_made_again(self):
    work = version_work.VersionWork(self.version, _PLAN)
    embed_rows = mock.Mock(return_value=np.zeros([4, 2], np.float32))
    work.make_shard(1, embed_rows)
    work.make_shard(1, embed_rows)
    embed_rows.assert_called_once()


class ProgressTest(absltest.TestCase):
  def test_each_version_has_a_bar(self):
    with contextlib.redirect_stdout(io.StringIO()) as shown:
      progress = version_work.Progress()
      for done in (4, 10):
        progress(done, 10)
      progress(1, 12)
      progress(12, 12)
    self.assertIn('10/10', shown.getvalue())
    self.assertIn('12/12', shown.getvalue())


if __name__ == '__main__':
  absltest.main()
