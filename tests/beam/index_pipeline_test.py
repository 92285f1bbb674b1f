"""Tests for realm_tf.beam.index_pipeline, on DirectRunner and Dask."""

import glob
import os
import signal
import threading

from absl.testing import absltest
import numpy as np
import pytest

from realm_tf.beam import index_pipeline
from realm_tf.index import index_builder
from realm_tf.index import storage
from tests.index import small

_OVERRIDES = ['index.shard_blocks=2']
_NUM_SHARDS = 10
_DASK = '--runner=apache_beam.runners.dask.dask_runner.DaskRunner'


class IndexPipelineTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.temp = self.create_tempdir().full_path
    self.corpus = small.write_corpus(self.temp, range(3, 3 + 2 * _NUM_SHARDS))
    self.model = small.make_run(self.temp, self.corpus)
    self.params = small.publish_params(self.model, 1, small.model())
    self.builder = index_builder.open_builder(
      self.model, self.corpus, _OVERRIDES
    )
    self.root = os.path.join(self.temp, 'beam')

  def _begin(self):
    version, num_shards = self.builder.begin(self.params, self.root)
    self.assertEqual(num_shards, _NUM_SHARDS)
    return version, index_pipeline.Embedding(
      self.model, self.corpus, _OVERRIDES, version
    )

  def _done(self, version):
    return glob.glob(os.path.join(version.path, 'work-*', '*.done'))

  def _check(self, version):
    """Checks that workers made all shards, equal to shards made here."""
    self.assertLen(self._done(version), _NUM_SHARDS)
    self.builder.publish(self.params, self.root)
    local = self.builder.publish(
      self.params, os.path.join(self.temp, 'local')
    ).path
    fingerprint = self.builder.corpus_fingerprint
    np.testing.assert_array_equal(
      storage.load(version.path, fingerprint).embeddings[:],
      storage.load(local, fingerprint).embeddings[:],
    )
    for name in ('corpus_fingerprint', 'params_fingerprint'):
      self.assertEqual(
        storage.read_manifest(version.path)[name],
        storage.read_manifest(local)[name],
      )

  def test_two_threads_agree_with_one(self):
    version, embedding = self._begin()
    options = ['--runner=DirectRunner', '--direct_num_workers=2']
    options.append('--direct_running_mode=multi_threading')
    index_pipeline.embed(embedding, _NUM_SHARDS, options)
    self._check(version)

  def test_dask_makes_all_shards_even_if_a_worker_is_killed(self):
    distributed = pytest.importorskip('distributed')
    version, embedding = self._begin()
    with distributed.LocalCluster(
      n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
      killed, ended = [], threading.Event()

      def kill():
        while not self._done(version) and not ended.wait(0.02):
          pass
        if len(self._done(version)) < _NUM_SHARDS:
          killed.append(cluster.workers[0].pid)
          os.kill(killed[0], signal.SIGKILL)

      thread = threading.Thread(target=kill)
      thread.start()
      try:
        address = f'--dask_client_address={cluster.scheduler_address}'
        options = [_DASK, address, '--dask_partition_size=1']
        index_pipeline.embed(embedding, _NUM_SHARDS, options)
      finally:
        ended.set()
        thread.join()
    self.assertLen(killed, 1)
    self._check(version)


if __name__ == '__main__':
  absltest.main()
