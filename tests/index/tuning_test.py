"""Tests that realm_tf.index.searchers reaches a recall."""

from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.index import exact_search
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import searchers
from tests import tiny

_LEAVES = 10
_MASK = tiny.TOKENIZER.mask_id


class _SlicedTwin:
  """Exact search among the first blocks; each leaf is a tenth of all."""

  def __init__(self, embeddings):
    self._embeddings = embeddings
    self.tried = []

  def search(self, queries, k, effort):
    self.tried.append(effort)
    seen = len(self._embeddings) * effort.leaves_to_search // _LEAVES
    # Too little rescoring finds nothing.
    blocks = self._embeddings * (effort.num_to_rescore >= 40)
    return exact_search.BruteForceSearcher(blocks[:seen]).search(queries, k)


class TuningTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.embeddings = rng.normal(size=[1000, 8]).astype(np.float32)
    self.queries = rng.normal(size=[200, 8]).astype(np.float32)
    exact = exact_search.BruteForceSearcher(self.embeddings)
    self.expected = exact.search(self.queries, 10).block_ids

  def _choose(self, twin, target):
    candidates = searchers.efforts(_LEAVES, 1000, 10)
    return searchers.choose(
      twin, candidates, self.queries, self.expected, target
    )

  def test_recall_is_the_share_found(self):
    expected = np.array([[1, 2], [3, 4]])
    found = np.array([[2, 9, 8], [4, 3, interfaces.NULL_BLOCK]])
    self.assertEqual(searchers.recall(found, expected), 0.75)

  @parameterized.parameters(0.15, 0.45, 0.65, 1.0)
  def test_takes_the_fewest_leaves_that_reach_the_target(self, target):
    twin = _SlicedTwin(self.embeddings)
    effort, recall = self._choose(twin, target)
    # A leaf has about a tenth of the top blocks.
    in_leaf = self.expected // 100
    shares = [(in_leaf < leaves).mean() for leaves in range(_LEAVES + 1)]
    needed = next(i for i, share in enumerate(shares) if share >= target)
    # Rescoring fewer than 40 never suffices.
    self.assertEqual(effort, (needed, 40))
    self.assertAlmostEqual(recall, shares[needed])
    # No effort is tried twice.
    self.assertLen(set(twin.tried), len(twin.tried))

  def test_an_unreachable_target_logs_the_most_thorough_effort(self):
    with self.assertLogs(level='WARNING') as logs:
      found = self._choose(_SlicedTwin(self.embeddings[:700]), 0.95)
    share = (self.expected < 700).mean()
    self.assertEqual(found, ((_LEAVES, 640), share))
    self.assertIn(f'Recall@10 is {share:.4f}', logs.output[0])

  @parameterized.parameters((1, 16), (7, 100), (1000, 1_000_000))
  def test_efforts_range_from_least_to_most(self, num_leaves, num_blocks):
    efforts = searchers.efforts(num_leaves, num_blocks, 10)
    self.assertEqual(efforts[0], (1, 10))
    self.assertEqual(efforts[-1], (num_leaves, min(640, num_blocks)))
    self.assertLen(set(efforts), len(efforts))
    self.assertLess(len(efforts), 400)

  def test_a_large_k_has_larger_numbers_to_rescore(self):
    efforts = searchers.efforts(40, 20_000, 1000, min_leaves=10)
    rescored = {effort.num_to_rescore for effort in efforts}
    self.assertEqual(
      sorted(rescored), [times * 1000 for times in (1, 2, 3, 4, 6, 8, 12, 16)]
    )
    self.assertEqual(min(effort.leaves_to_search for effort in efforts), 10)
    capped = searchers.efforts(40, 2500, 1000)
    self.assertEqual(
      {effort.num_to_rescore for effort in capped}, {1000, 2000, 2500}
    )

  def test_untuned_searches_visit_a_tenth_of_the_leaves(self):
    config = config_lib.IndexConfig()
    self.assertEqual(searcher_lib.untuned(config, 10_000), (100, (10, 200)))
    self.assertEqual(searcher_lib.untuned(config, 16), (4, (1, 200)))
    config = config_lib.IndexConfig(num_leaves=50)
    self.assertEqual(searcher_lib.untuned(config, 20), (20, (2, 200)))


class SampleQueriesTest(absltest.TestCase):
  def _sample(self, count, query_tokens=8):
    seen = []

    def embed(ids):
      """Returns the sum and the number of each query's wordpieces."""
      seen.extend(row[row > 0].tolist() for row in ids)
      columns = [ids.sum(axis=1), (ids > 0).sum(axis=1)]
      return np.stack(columns, axis=1).astype(np.float32)

    table = tiny.open_corpus(self.create_tempdir().full_path)
    lengths = config_lib.LengthConfig(query_tokens=query_tokens, max_masked=2)
    return seen, searchers.sample_queries(table, embed, lengths, _MASK, count)

  def test_a_span_of_each_sentence_is_masked(self):
    pairs = ('ab', 'cd', 'ef', 'ac', 'bd', 'ce', 'df', 'ea')
    expected = [
      tuple(tiny.TOKENIZER.token_ids_batch([f'{a} {b} .'])[0].tolist())
      for a, b in pairs
    ]
    with mock.patch.object(searchers, '_BATCH', 7):
      seen, queries = self._sample(100)
    sources = set()
    for row in seen:
      masked = [i for i, wordpiece in enumerate(row) if wordpiece == _MASK]
      self.assertIn(masked, [[0], [1], [2], [0, 1], [1, 2]])
      sources |= {
        sentence
        for sentence in expected
        if len(sentence) == len(row)
        and all(b in (a, _MASK) for a, b in zip(sentence, row))
      }
    # 100 draws miss one of 8 sentences with a probability of 1.6e-6.
    self.assertCountEqual(sources, expected)
    np.testing.assert_array_equal(
      queries, [[sum(row), len(row)] for row in seen]
    )
    self.assertEqual(queries.dtype, np.float32)

  def test_queries_are_the_same_every_time(self):
    self.assertEqual(self._sample(10)[0], self._sample(10)[0])

  def test_long_sentences_are_cut(self):
    # Embedding adds [CLS] and [SEP].
    seen, _ = self._sample(5, query_tokens=4)
    self.assertEqual({len(row) for row in seen}, {2})
    self.assertTrue(all(_MASK in row for row in seen))


if __name__ == '__main__':
  absltest.main()
