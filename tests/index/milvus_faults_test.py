"""Tests a refresher process that is killed while it fills Milvus.

milvus-lite runs in this process and outlives the refresher, as a server would.
REALM_MILVUS_URI names a server to use instead.
"""

import os
import time

from absl.testing import absltest

from realm_tf import errors
from realm_tf.index import model_files
from realm_tf.model import weights
from realm_tf.run import layout
from realm_tf.run import versions
from tests import forks
from tests.index import small

try:
  import pymilvus

  from realm_tf.index import milvus_searcher
except (ImportError, errors.UserError):
  pymilvus = None

_LENGTHS = (5, 30, 12, 9, 20, 3) * 5


def _start_lite(path):
  """Returns the address at which other processes find milvus-lite."""
  from milvus_lite import server_manager

  return server_manager.server_manager_instance.start_and_get_uri(path)


@absltest.skipIf(pymilvus is None, 'pymilvus is not installed.')
class MilvusFaultsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.forks = forks.Forks(self.create_tempdir().full_path)
    temp = self.create_tempdir().full_path
    self.uri = os.environ.get('REALM_MILVUS_URI') or _start_lite(
      os.path.join(temp, 'milvus.db')
    )
    self.client = milvus_searcher._connect(self.uri)
    self.corpus_dir = small.write_corpus(temp, _LENGTHS)
    self.run_dir = os.path.join(temp, 'run')
    model_files.create(
      self.run_dir, small.CONFIG, layout.vocab_file(self.corpus_dir)
    )

  def tearDown(self):
    for collection in self.client.list_collections():
      milvus_searcher._drop(self.client, collection)
    super().tearDown()

  def _refresh(self, step):
    """Publishes parameters and starts their refresh; returns the process."""
    versions.publish(
      layout.params_root(self.run_dir),
      step,
      lambda path: weights.write(
        weights.values(small.model(step).variables), layout.params_file(path)
      ),
      {},
    )
    return self.forks.start(
      'refresh_index',
      f'--run_dir={self.run_dir}',
      f'--corpus_dir={self.corpus_dir}',
      '--once',
      '--set=index.searcher=milvus',
      f'--set=index.uri={self.uri}',
      '--set=index.recall_target=0',  # Tuning is slow and not tested here.
    )

  def _alias(self):
    """Returns the collection that other clients of the server search."""
    alias = milvus_searcher.alias_of(layout.index_root(self.run_dir))
    return self.client.describe_alias(alias)['collection_name']

  def _new(self, old):
    return [x for x in self.client.list_collections() if x not in old]

  def _is_killed_half_way(self, step, is_reached):
    """Kills a refresh at `is_reached`; returns whether it was incomplete."""
    old = self.client.list_collections()
    before = versions.newest(layout.index_root(self.run_dir))
    refresher = self._refresh(step)
    while not any(map(is_reached, self._new(old))):
      if not self.forks.is_running(refresher):
        self.fail(self.forks.logs())
      time.sleep(0.001)
    self.forks.kill(refresher)
    return versions.newest(layout.index_root(self.run_dir)) == before

  def test_a_refresh_killed_half_way_keeps_the_alias(self):
    self.assertEqual(self.forks.wait(self._refresh(0)), 0, self.forks.logs())
    moments = {
      'made': lambda name: True,
      'filled': lambda name: (
        self.client.get_collection_stats(name)['row_count'] > 0
      ),
      'indexed': self.client.list_indexes,
    }
    steps = iter(range(1, 100))
    for moment, is_reached in moments.items():
      with self.subTest(moment):
        before = self._alias()
        while not self._is_killed_half_way(next(steps), is_reached):
          before = self._alias()
        self.assertEqual(self._alias(), before)
    old = self.client.list_collections()
    last = self._refresh(next(steps))
    self.assertEqual(self.forks.wait(last), 0, self.forks.logs())
    self.assertIn(self._alias(), self._new(old))


if __name__ == '__main__':
  absltest.main()
