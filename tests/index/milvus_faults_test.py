"""Tests a refresher process that is killed while it fills Milvus.

milvus-lite runs in this process and outlives the refresher, as a server would.
"""

from absl.testing import absltest

from realm_tf.run import layout
from realm_tf.run import versions
from tests import forks
from tests.index import milvus
from tests.index import small

_LENGTHS = (5, 30, 12, 9, 20, 3) * 5


class MilvusFaultsTest(milvus.MilvusCase):
  def setUp(self):
    super().setUp()
    self.forks = forks.Forks(self.create_tempdir().full_path)
    self.corpus_dir = small.write_corpus(self.directory, _LENGTHS)
    self.run_dir = small.make_run(self.directory, self.corpus_dir)
    self.index_root = layout.index_root(self.run_dir)

  def start(self, path):
    """Returns the address at which other processes find milvus-lite."""
    from milvus_lite import server_manager

    return server_manager.server_manager_instance.start_and_get_uri(path)

  def _refresh(self, step):
    """Publishes parameters and starts their refresh; returns the process."""
    small.publish_params(self.run_dir, step, small.model(step))
    return self.forks.start(
      'refresh_index',
      f'--run_dir={self.run_dir}',
      f'--corpus_dir={self.corpus_dir}',
      '--once',
      '--set=index.searcher=milvus',
      f'--set=index.uri={self.uri}',
      '--set=index.recall_target=0',  # Tuning is slow and not tested here.
    )

  def _new(self, old):
    return [x for x in self.client.list_collections() if x not in old]

  def _is_killed_half_way(self, step, is_reached):
    """Kills a refresh at `is_reached`; returns whether it was incomplete."""
    old = self.client.list_collections()
    before = versions.newest(self.index_root)
    refresher = self._refresh(step)
    self.forks.await_from(
      refresher, lambda: any(map(is_reached, self._new(old)))
    )
    self.forks.kill(refresher)
    return versions.newest(self.index_root) == before

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
        before = self.alias(self.index_root)
        while not self._is_killed_half_way(next(steps), is_reached):
          before = self.alias(self.index_root)
        self.assertEqual(self.alias(self.index_root), before)
    old = self.client.list_collections()
    last = self._refresh(next(steps))
    self.assertEqual(self.forks.wait(last), 0, self.forks.logs())
    self.assertIn(self.alias(self.index_root), self._new(old))


if __name__ == '__main__':
  absltest.main()
