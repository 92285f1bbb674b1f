"""Tests for realm_tf.index.disk_rescoring."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.index import disk_rescoring
from realm_tf.index import embedding_shards
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searchers


class _Codes:
  """A searcher with given hits and wrong scores."""

  num_leaves = 1

  def __init__(self, hits, num_to_rescore):
    self._hits = np.array(hits, np.int32)
    self.effort = searcher_lib.Effort(1, num_to_rescore)

  def with_effort(self, effort):
    return _Codes(self._hits, effort.num_to_rescore)

  def search(self, queries, k):
    self.searched_k = k
    ids = self._hits[: len(queries), :k]
    return searcher_lib.Neighbors(ids, np.zeros(ids.shape, np.float32))


class DiskRescorerTest(parameterized.TestCase):
  def test_hits_are_ranked_by_their_exact_scores(self):
    embeddings = np.array([[1, 0], [3, 0], [2, 0], [0, 9]], np.float32)
    codes = _Codes([[0, 2, 1], [2, 0, 3]], num_to_rescore=3)
    rescorer = disk_rescoring.DiskRescorer(codes, embeddings)
    found = rescorer.search(np.array([[1, 0], [1, 1]]), 2)
    self.assertEqual(found.block_ids.tolist(), [[1, 2], [3, 2]])
    self.assertEqual(found.scores.tolist(), [[3, 2], [9, 2]])
    self.assertEqual(codes.searched_k, 3)

  def test_k_may_be_above_the_number_to_rescore(self):
    codes = _Codes([[0, 1, 2]], num_to_rescore=1)
    rescorer = disk_rescoring.DiskRescorer(codes, np.eye(3, dtype=np.float32))
    self.assertEqual(rescorer.search(np.ones([1, 3]), 3)[0].shape, (1, 3))
    self.assertEqual(codes.searched_k, 3)
    larger = rescorer.with_effort(searcher_lib.Effort(1, 2))
    self.assertEqual(larger.effort.num_to_rescore, 2)

  def test_missing_hits_stay_missing(self):
    codes = _Codes([[1, -1, -1]], num_to_rescore=3)
    # A missing hit is read as block 0, which would score more.
    embeddings = np.array([[9], [1]], np.float32)
    found = disk_rescoring.DiskRescorer(codes, embeddings).search(
      np.ones([1, 1]), 2
    )
    self.assertEqual(found.block_ids.tolist(), [[1, -1]])
    self.assertEqual(found.scores.tolist(), [[1, -np.inf]])

  def test_equal_scores_are_ordered_by_id(self):
    codes = _Codes([[2, 0, 1]], num_to_rescore=3)
    found = disk_rescoring.DiskRescorer(codes, np.ones([3, 1])).search(
      np.ones([1, 1]), 3
    )
    self.assertEqual(found.block_ids.tolist(), [[0, 1, 2]])

  @parameterized.product(kind=('scann', 'faiss'), dtype=('float32', 'bfloat16'))
  def test_agrees_with_vectors_in_memory(self, kind, dtype):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal([2000, 16]).astype(np.float32)
    queries = rng.standard_normal([70, 16]).astype(np.float32)
    directory = self.create_tempdir().full_path
    shards = [
      embedding_shards.write(directory, f'{i}.npy', part, dtype)
      for i, part in enumerate(np.split(rows, 2))
    ]
    stored = embedding_shards.Embeddings(directory, shards, dtype)
    found = {}
    for vectors in ('memory', 'disk'):
      config = config_lib.IndexConfig(
        searcher=kind,
        vectors=vectors,
        leaves_to_search_fraction=1,
        num_to_rescore=400,
      )
      built = searchers.build(stored, config)
      path = os.path.join(directory, vectors)
      searchers.save(built.searcher, path)
      loaded = searchers.load(built.settings, path, stored, own_process=True)
      found[vectors] = loaded.search(queries, 10)
      size = sum(entry.stat().st_size for entry in os.scandir(path))
      self.assertEqual(size > rows.nbytes, vectors == 'memory')
    for on_disk, in_memory in zip(found['disk'], found['memory'], strict=True):
      np.testing.assert_allclose(on_disk, in_memory, rtol=1e-5)


if __name__ == '__main__':
  absltest.main()
