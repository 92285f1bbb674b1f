"""Tests for realm_tf.retrieval.retrievers and retriever."""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import link_graph
from realm_tf.index import exact_search
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever
from realm_tf.retrieval import retrievers
from tests import fakes

_QUERIES = retriever.of_texts(['rome', 'two rivers'], np.eye(2, 3))
_EMBEDDINGS = np.eye(3, dtype=np.float32)


def _table():
  table = mock.Mock(num_blocks=3)
  table.titles.return_value = ['Rome', 'Paris', 'Lyon']
  table.texts.return_value = ['a tower', 'two rivers', 'towns']
  return table


def _loaded(path_scorer=None):
  searcher = exact_search.BruteForceSearcher(_EMBEDDINGS)
  return types.SimpleNamespace(
    path='the/model',
    model=types.SimpleNamespace(path_scorer=path_scorer),
    config=mock.MagicMock(),
    tokenizer=mock.MagicMock(),
    index=types.SimpleNamespace(searcher=searcher, embeddings=_EMBEDDINGS),
  )


class OpenTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    graph = link_graph.graph_of(np.array([0]), np.array([2]), 3)
    linked = linked_blocks.LinkedBlocks(graph, np.arange(3))
    self.enter_context(
      mock.patch.object(
        linked_blocks.LinkedBlocks, 'over_table', return_value=linked
      )
    )
    self.enter_context(
      mock.patch.object(  # Wordpieces are their own embeddings.
        retrievers.embedding, 'compile_queries', lambda *_, **__: np.float32
      )
    )

  @parameterized.parameters(
    ('model', 1, [[0], [1]]),
    ('bm25', 1, [[0], [1]]),
    ('tfidf', 1, [[0], [1]]),
    ('bm25_graph', 1, [[0], [1]]),
    ('graph', 2, [[0, 2], [1, 0]]),  # Block 0 links to 2.
    ('none', 2, [[-1, -1], [-1, -1]]),
  )
  def test_each_kind_finds_its_blocks(self, kind, k, expected):
    opened = retrievers.open(kind, _table(), _loaded())
    found = opened.retrieve(_QUERIES, k)
    self.assertEqual(found.block_ids.tolist(), expected)
    self.assertEqual(found.block_ids.dtype, np.int32)
    self.assertEqual(found.scores.dtype, np.float32)

  def test_rows_of_a_small_index_are_filled(self):
    found = retrievers.open('model', _table(), _loaded())(
      np.array([[5, 6, 7], [7, 5, 6]]), k=5
    )
    self.assertEqual(
      found.block_ids.tolist(), [[2, 1, 0, -1, -1], [0, 2, 1, -1, -1]]
    )
    self.assertEqual(found.scores[0].tolist(), [7, 6, 5, -np.inf, -np.inf])

  @mock.patch.object(retrievers, '_MOST_KEPT_BYTES', 1500)
  def test_systems_that_share_a_search_embed_each_query_once(self):
    embedded = []
    embed = lambda ids: embedded.extend(ids.tolist()) or np.float32(ids)
    with mock.patch.object(
      retrievers.embedding, 'compile_queries', lambda *_, **__: embed
    ):
      shared = retrievers.open('model', _table(), _loaded(), is_shared=True)
    # Padding is no difference; the order is.
    for ids in ([[5, 6, 0], [6, 5, 0], [5, 6, 0]], [[5, 6, 7], [5, 6, 0]]):
      np.testing.assert_array_equal(
        shared(np.array(ids), 2).scores, np.sort(ids)[:, :0:-1]
      )
    self.assertEqual(embedded, [[5, 6, 0], [6, 5, 0], [5, 6, 7]])
    again = [[5, 6, 7], [7, 0, 0]]  # Three are too many for another one.
    shared(np.array(again), 2)
    self.assertEqual(embedded[3:], again)

  def test_paths_need_a_scorer(self):
    with self.assertRaisesRegex(errors.UserError, 'none in the/model. Make'):
      retrievers.open('path', _table(), _loaded())


_IDS = np.array([[5, 0, 0], [6, 7, 0], [8, 9, 5], [5, 6, 0], [7, 0, 0]])


class _Lengths:
  """Finds block len(text) for a text; keeps the calls."""

  def __init__(self):
    self.calls = []

  def retrieve(self, queries, k):
    self.calls.append((list(queries.texts), k))
    ids = np.array([[len(text)] * k for text in queries.texts], np.int32)
    return interfaces.Neighbors(ids, ids / 2)


class QueriesTest(absltest.TestCase):
  def test_taken_queries_are_trimmed_to_the_longest(self):
    queries = retriever.of_texts('abcde', _IDS).take([3, 0])
    self.assertEqual(queries.ids.tolist(), [[5, 6], [5, 0]])
    self.assertEqual(queries.texts, ['d', 'a'])

  def test_masked_sentences_have_texts_without_the_masked_words(self):
    tokenizer = fakes.tokenizer('rome river ##s')  # Ids 5, 6 and 7.
    mask = tokenizer.mask_id
    ids = np.array([[5, mask, mask, 0], [mask, 6, 7, 0]])
    queries = retriever.masked(ids, tokenizer)
    self.assertEqual(queries.texts, ['rome', 'rivers'])
    self.assertLen(queries, 2)


class RetrieversTest(absltest.TestCase):
  def test_batches_have_few_sizes_and_do_not_change_results(self):
    inner = fakes.FoundBy(lambda ids, k: ids[:, :1] + np.arange(k))
    queries = retriever.of_texts('abcde', _IDS)
    for size, shapes in (
      (4, [(4, 3), (1, 1)]),  # A full batch, then one row of one wordpiece.
      (8, [(8, 3)]),
      (2, [(2, 2), (2, 3), (1, 1)]),
    ):
      with mock.patch.object(inner, 'retrieve', wraps=inner.retrieve) as spy:
        found = retriever.InBatches(inner, size).retrieve(queries, 2)
      np.testing.assert_array_equal(found, inner.retrieve(queries, 2))
      calls = [call.args[0].ids.shape for call in spy.call_args_list]
      self.assertEqual(calls, shapes)

  def test_a_search_by_words_gets_no_copies(self):
    inner = _Lengths()
    batches = retriever.InBatches(inner, 4, filled=False)
    batches.retrieve(retriever.of_texts(list('abcdefg')), 1)
    self.assertEqual(inner.calls, [(list('abcd'), 1), (list('efg'), 1)])

  @mock.patch.object(retriever, '_MOST_KEPT_BYTES', 1500)
  def test_the_same_text_is_searched_once(self):
    inner = _Lengths()
    kept = retriever.Kept(inner)

    def find(texts, k):
      found = kept.retrieve(retriever.of_texts(texts), k)
      np.testing.assert_array_equal(found.scores, found.block_ids / 2)
      return found.block_ids.tolist()

    self.assertEqual(find(['rome', 'rome'], 1), [[4], [4]])
    self.assertEqual(find(['paris', 'rome'], 1), [[5], [4]])
    self.assertEqual(inner.calls, [(['rome'], 1), (['paris'], 1)])
    # Another k is another search. The next texts exceed the bytes.
    self.assertEqual(find(['rome'], 2), [[4, 4]])
    self.assertEqual(find(['paris', 'oslo'], 1), [[5], [4]])
    self.assertEqual(inner.calls[2:], [(['rome'], 2), (['paris', 'oslo'], 1)])


_NONE = -np.inf


def _found(ids, scores):
  return interfaces.Neighbors(np.array(ids, np.int32), np.array(scores, float))


class HybridTest(absltest.TestCase):
  def _assert_found(self, actual, ids, scores):
    self.assertEqual(actual.block_ids.tolist(), ids)
    np.testing.assert_allclose(actual.scores, scores, rtol=1e-6)

  def test_adds_the_scores_of_both(self):
    # Block 7: 3 + 0.5 * 8. Block 4: 5 + 0.5 * 2, the lowest score of BM25.
    # Block 9: 3 + 0.5 * 2, with the lowest score of the embeddings.
    # Block 7 of the second question: 4 + 0.5 * 6; it has no block 4.
    actual = retriever.fuse(
      _found([[4, 7], [7, 2]], [[5, 3], [4, 1]]),
      _found([[7, 9], [9, 7]], [[8, 2], [9, 6]]),
      0.5,
      3,
    )
    self._assert_found(
      actual, [[7, 4, 9], [7, 9, 2]], [[7.0, 6.0, 4.0], [7.0, 5.5, 4.0]]
    )

  def test_a_corpus_with_fewer_than_k_blocks(self):
    dense = _found([[1, 0, -1]], [[2, 1, _NONE]])
    sparse = _found([[0, 1, -1]], [[4, 2, _NONE]])
    actual = retriever.fuse(dense, sparse, 1.0, 8)
    self._assert_found(actual, [[0, 1] + [-1] * 6], [[5.0, 4.0] + [_NONE] * 6])

  def test_sums_of_some_hundred_blocks_are_exact(self):
    dense, sparse = np.random.RandomState(0).standard_normal([2, 400])
    sums = dense + 0.7 * sparse
    one, two = (
      fakes.FakeRetriever(np.argsort(-x), -np.sort(-x)) for x in (dense, sparse)
    )
    both = retriever.Hybrid(one, two, weight=0.7)
    found = both.retrieve(retriever.of_texts(['x']), 9)
    best = np.argsort(-sums)[:9]
    self._assert_found(found, [best.tolist()], [sums[best].tolist()])

  def test_alternates(self):
    one = fakes.FakeRetriever([4, 7, 9], [3.0, 2.0, 1.0])
    two = fakes.FakeRetriever([7], [8.0])
    found = retriever.Alternating(one, two).retrieve(
      retriever.of_texts('ab'), 2
    )
    self._assert_found(found, [[4, 7, 7, -1]] * 2, [[3, 8, 2, _NONE]] * 2)


if __name__ == '__main__':
  absltest.main()
