"""Tests for realm_tf.retrieval.retrievers."""

import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.data import link_graph
from realm_tf.index import exact_search
from realm_tf.retrieval import linked_blocks
from realm_tf.retrieval import retriever
from realm_tf.retrieval import retrievers

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
    graph = link_graph.LinkGraph.from_edges(np.array([0]), np.array([2]), 3)
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

  def test_paths_need_a_scorer(self):
    with self.assertRaisesRegex(errors.UserError, 'none in the/model. Make'):
      retrievers.open('path', _table(), _loaded())


if __name__ == '__main__':
  absltest.main()
