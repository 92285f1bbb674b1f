"""Tests for realm_tf.index.searchers."""

import json
import os
import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import json_text
from realm_tf.index import exact_search
from realm_tf.index import searchers


def _normal(*shape):
  return np.random.default_rng(len(shape)).normal(size=shape).astype('f')


def _config(searcher, **fields):
  return config_lib.IndexConfig(searcher=searcher, **fields)


class SearchersTest(parameterized.TestCase):
  @parameterized.parameters(
    ('auto', 20, 19, 'brute_force'),
    ('auto', 20, 20, 'scann'),
    ('auto', 1, 15, 'brute_force'),  # Codebooks need 16.
    ('auto', 1, 16, 'scann'),
    ('scann', 20, 16, 'scann'),
    ('scann', 20, 15, 'brute_force'),
    ('milvus', 20, 16, 'milvus'),
    ('device', 20, 1, 'device'),
    ('brute_force', 20, 10**7, 'brute_force'),
  )
  def test_kind_depends_on_the_number_of_blocks(
    self, searcher, exact_below, num_blocks, expected
  ):
    config = _config(searcher, exact_below_blocks=exact_below)
    self.assertEqual(searchers.kind(config, num_blocks), expected)

  @parameterized.parameters('brute_force', 'device')
  def test_exact_searchers_have_no_files(self, kind):
    blocks, queries = _normal(100, 8), _normal(5, 8)
    built = searchers.build(blocks, _config(kind), queries)
    self.assertEqual(built.settings, {'kind': kind})
    path = os.path.join(self.create_tempdir().full_path, 'none')
    searchers.save(built.searcher, path)
    self.assertFalse(os.path.exists(path))
    loaded = searchers.load(built.settings, path, blocks)
    expected = exact_search.BruteForceSearcher(blocks).search(queries, 3)
    np.testing.assert_array_equal(
      loaded.search(queries, 3).block_ids, expected.block_ids
    )

  def test_bfloat16_on_disk_is_bfloat16_on_the_device(self):
    # Both are 1 in bfloat16.
    blocks = np.array([[1, 0], [1 + 2**-9, 0]], np.float32)
    for dtype, best in (('float32', 1), ('bfloat16', 0), ('float16', 1)):
      built = searchers.build(blocks, _config('device', storage_dtype=dtype))
      loaded = searchers.load(built.settings, '', blocks)
      for searcher in (built.searcher, loaded):
        found = searcher.search(np.eye(2, dtype=np.float32)[:1], 1)
        self.assertEqual(found.block_ids.item(), best, dtype)

  @parameterized.product(
    ({'kind': 'scann', 'leaves': 45},), is_remote=(False, True)
  )
  def test_a_tuned_searcher_is_saved_and_loaded(self, kind, leaves, is_remote):
    blocks, queries = _normal(2000, 8), -_normal(50, 8)
    config = _config(kind, recall_target=0.9)
    built = searchers.build(blocks, config, queries, (10, 100, 5000))
    settings = json.loads(json.dumps(built.settings))
    self.assertEqual(settings['recall'], {'target': 0.9, 'num_queries': 50})
    self.assertEqual((settings['kind'], settings['num_leaves']), (kind, leaves))
    rows = {row.pop('k'): row for row in settings['efforts']}
    self.assertEqual(list(rows), [10, 100, 2000])  # At most N.
    exact = exact_search.BruteForceSearcher(blocks).search(queries, 2000)
    for k, row in rows.items():
      recall = row.pop('measured')
      self.assertBetween(recall, 0.9, 1.0)
      found = built.searcher.search(queries, k).block_ids
      expected = searchers.recall(found, exact.block_ids[:, :k])
      self.assertAlmostEqual(recall, expected)
      self.assertEqual(row, built.searcher.efforts[k]._asdict())

    path = f'ram://{kind}' if is_remote else self.create_tempdir().full_path
    searchers.save(built.searcher, path)
    loaded = searchers.load(built.settings, path, blocks)
    self.assertEqual(loaded.efforts, built.searcher.efforts)
    for k in (7, 99):
      for actual, expected in zip(
        loaded.search(queries, k), built.searcher.search(queries, k)
      ):
        # Vectors at other addresses may be summed in another order.
        np.testing.assert_allclose(actual, expected, rtol=1e-6)

  def test_without_a_target_the_effort_is_untuned(self):
    config = _config('scann', num_leaves=20, recall_target=0)
    blocks = _normal(500, 8)
    built = searchers.build(blocks, config, _normal(5, 8), (10, 100))
    self.assertEqual(built.searcher.efforts, {10: (2, 200), 100: (2, 200)})
    self.assertIn('recall', built.settings)

  def test_unused_searchers_are_not_imported(self):
    # A process of its own, since other tests here import them.
    code = (
      'import sys, numpy as np; from realm_tf import config; '
      'from realm_tf.index import searchers; '
      's = searchers.build(np.ones([20, 2], "f"), config.IndexConfig()); '
      's.searcher.search(np.ones([1, 2], "f"), 1); '
      'print(sorted({"scann", "pymilvus"} & set(sys.modules)))'
    )
    done = subprocess.run(
      [sys.executable, '-c', code], capture_output=True, text=True, check=True
    )
    self.assertEqual(done.stdout.strip(), '[]')

  def test_settings_of_an_index_with_vectors_on_disk_are_refused(self):
    built = searchers.build(_normal(20, 8), _config('scann'), _normal(1, 8))
    self.assertTrue(json_text.holds(built.settings, searchers.SHAPE))
    of_disk = {**built.settings, 'vectors': 'disk'}
    self.assertFalse(json_text.holds(of_disk, searchers.SHAPE))


if __name__ == '__main__':
  absltest.main()
