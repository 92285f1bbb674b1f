"""Tests for realm_tf.data.link_graph."""

import os
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import link_graph
from tests import tiny


def _article(title, text, links=()):
  return sources.Article(title, text, f'id {title}', links=links)


# 'Alias' redirects to 'D d'; there is no article 'Z', and 'Empty' has no block.
_ARTICLES = [
  _article('A', 'A b. E f. D d c a.', ('B_c', 'alias', 'Z')),
  _article('Empty', '', ('A',)),
  _article('B c', 'C e f. B a. A D d.', ('A', 'A', 'b c')),
  _article('C', 'F e. B c d e f.', ('Empty', 'E')),
  _article('D d', 'F a B c C.', ('C',)),
  _article('E', 'D. E e e f.', ('Alias',)),
]
_BY_MARKUP = {'A': ['B c', 'D d'], 'B c': ['A'], 'C': ['E'], 'D d': ['C']}
_BY_MARKUP['E'] = ['D d']
# 'B c' is longer than 'C', 'c' is not 'C', and 'D' is no title.
_BY_TITLES = {
  'A': ['D d', 'E'],
  'B c': ['A', 'C', 'D d'],
  'C': ['B c'],
  'D d': ['B c', 'C'],
}
_KINDS = (('markup', _BY_MARKUP), ('titles', _BY_TITLES))


class CorpusLinksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path

  def _path(self, name):
    return os.path.join(self.directory, name)

  def _blocks(self, articles, links):
    links.add_redirect('alias', 'D_d')
    return corpus_files.cut(
      links.noting(articles), tiny.TOKENIZER, tiny.MAX_BLOCK_WORDPIECES
    )

  def _make(self, name, articles, kind):
    links = link_graph.CorpusLinks(kind)
    self._write(name, self._blocks(articles, links), links)

  def _write(self, name, batches, links=None):
    corpus_files.write(
      batches,
      self._path(name),
      tiny.TOKENIZER,
      source={},
      max_block_wordpieces=tiny.MAX_BLOCK_WORDPIECES,
      links=links,
    )

  def _update(self, old, name, removed, articles):
    update = corpus_files.CorpusUpdate(self._path(old), removed)
    batches = self._blocks(articles, update.links)
    update.write(
      batches, self._path(name), source={}, counts=counts_lib.Counts()
    )

  def _links(self, name):
    """Returns title -> linked titles, for articles with links."""
    table = block_table.BlockTable.open(self._path(name), verify=True)
    graph = link_graph.open_graph(
      self._path(name), table.manifest, table.num_articles
    )
    self.assertEqual(table.manifest['links']['number'], graph.nnz)
    titles = np.array(table.all_titles())
    ends = zip(graph.indptr, graph.indptr[1:])
    found = {t: titles[graph.indices[i:j]] for t, (i, j) in zip(titles, ends)}
    return {t: each.tolist() for t, each in found.items() if len(each)}

  def _assert_same(self, first, second):
    paths = self._path(first), self._path(second)
    self.assertEqual(*map(block_table.fingerprint, paths))
    folders = [os.path.join(path, 'links') for path in paths]
    self.assertEqual(*map(sorted, map(os.listdir, folders)))
    for name in os.listdir(folders[0]):
      arrays = (np.load(os.path.join(folder, name)) for folder in folders)
      np.testing.assert_array_equal(*arrays, name)

  @parameterized.parameters(*_KINDS)
  def test_links_lead_from_articles_to_articles(self, kind, expected):
    self._make('new', _ARTICLES, kind)
    self.assertEqual(self._links('new'), expected)

  @parameterized.product(kind=('markup', 'titles'), number=(1, 3, 5))
  def test_appending_equals_making_at_once(self, kind, number):
    self._make('whole', _ARTICLES, kind)
    self._make('old', _ARTICLES[:number], kind)
    self._update('old', 'new', [], _ARTICLES[number:])
    self._assert_same('new', 'whole')

  @parameterized.product(kind=('markup', 'titles'), row=(0, 2, 4, 5))
  def test_removing_equals_making_without_and_can_be_undone(self, kind, row):
    self._make('old', _ARTICLES, kind)
    gone = _ARTICLES[row]
    rest = [article for article in _ARTICLES if article != gone]
    self._make('without', rest, kind)
    self._update('old', 'new', [gone.article_id], [])
    self._assert_same('new', 'without')
    self._make('last', [*rest, gone], kind)
    self._update('new', 'back', [], [gone])
    self._assert_same('back', 'last')

  def test_a_corpus_without_links_stays_without(self):
    blocks = self._blocks(_ARTICLES, link_graph.CorpusLinks('titles'))
    self._write('old', blocks)
    update = corpus_files.CorpusUpdate(self._path('old'), ['id A'])
    self.assertIsNone(update.links)
    update.write([], self._path('new'), source={}, counts=counts_lib.Counts())
    self.assertFalse(os.path.exists(os.path.join(self._path('new'), 'links')))
    with self.assertRaisesRegex(errors.UserError, '--links=titles'):
      self._links('new')


class JoinTest(absltest.TestCase):
  def test_follows_one_redirect_and_prefers_titles(self):
    keys = np.array([10, 11, 12], np.uint64)
    titles = np.array([30, 20, 20], np.uint64)
    redirects = np.array([[30, 20], [40, 50], [50, 20], [60, 30]], np.uint64)
    links = np.array(
      [[10, 20], [11, 40], [11, 50], [12, 30], [12, 60], [13, 20]], np.uint64
    )
    origins, targets = link_graph.join(keys, titles, links, redirects)
    self.assertEqual(origins.tolist(), [0, 1, 1, 2, 2, -1])
    self.assertEqual(targets.tolist(), [1, -1, 1, 0, 0, 1])


def _table(titles, texts):
  """Returns a table of one block per article."""
  return types.SimpleNamespace(
    num_blocks=len(texts),
    article_rows=np.arange(len(texts), dtype=np.int32),
    all_titles=lambda: titles,
    texts=lambda ids: [texts[i] for i in ids],
  )


class TitleLinksTest(absltest.TestCase):
  def _find(self, titles, text):
    texts = [text, *[''] * (len(titles) - 1)]
    origins, targets = link_graph.title_edges(_table(titles, texts))
    self.assertEqual(set(origins.tolist()), {0} if len(origins) else set())
    return [titles[i] for i in targets]

  def test_the_longest_title_counts_then_the_first(self):
    titles = ['New York', 'York City', 'York', 'City of London', 'London']
    self.assertEqual(
      self._find(titles, 'New York City of London'),
      ['New York', 'City of London'],
    )
    self.assertEqual(self._find(titles, 'New York City'), ['New York'])
    self.assertEqual(self._find(titles, 'new York\nCity'), ['York'])

  def test_titles_are_whole_words_in_any_script(self):
    titles = [
      'Rome',
      'São Tomé',
      '東京',
      'St. John’s',
      '𝔘',
      'No. 1 (film)',
      '!',
    ]
    self.assertEqual(
      self._find(titles, '“Rome”—São Tomé;東京! St. John’s, 𝔘. No. 1 (film)'),
      titles[:5],  # A title must end with a letter or digit.
    )
    self.assertEmpty(self._find(titles, 'Romeo rome São-Tomé 東京都 ROME'))

  def test_batches_do_not_change_the_links(self):
    rng = np.random.default_rng(0)
    titles = [f'w{i} w{i + 1}' for i in range(60)] + ['w3', 'w5 w6 w7']
    texts = [' '.join(f'w{i}' for i in rng.integers(0, 9, 200)) for _ in titles]
    table = _table(titles, texts)
    whole = link_graph.title_edges(table)
    with absltest.mock.patch.multiple(link_graph, _BATCH_BLOCKS=7):
      np.testing.assert_array_equal(link_graph.title_edges(table), whole)
    self.assertGreater(len(whole[0]), 100)


class GraphTest(absltest.TestCase):
  def test_edges_are_kept_once_without_loops_and_negative_ends(self):
    edges = [[0, 3], [3, 1], [0, 1], [0, 3], [1, 0], [1, 1], [2, -1], [-1, 2]]
    graph = link_graph.graph_of(*np.array(edges).T, 4)
    self.assertEqual(graph.indices.tolist(), [1, 3, 0, 1])
    self.assertEqual(graph.indptr.tolist(), [0, 2, 3, 3, 4])


if __name__ == '__main__':
  absltest.main()
