"""Tests for realm_tf.records.corpus_update."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.records import block_table
from realm_tf.records import corpus_building
from realm_tf.records import corpus_update
from realm_tf.records import corpus_writer
from realm_tf.records import shards
from tests import tiny

_MAX = tiny.MAX_BLOCK_WORDPIECES
_ARTICLES = [
  sources.Article(
    letter, f'A {letter}. B c d e f. D {letter} {letter}.', letter
  )
  for letter in 'abcdef'
]


class CorpusUpdateTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path

  def _path(self, name):
    return os.path.join(self.directory, name)

  def _make(self, name, articles):
    """Writes a corpus of two blocks a shard from scratch."""
    counts = counts_lib.Counts()
    return shards.write_encoded(
      corpus_building.build(articles, tiny.TOKENIZER, _MAX, counts),
      self._path(name),
      tiny.TOKENIZER,
      {'kept': {'articles': len(articles)}, 'left_out': {'list': 2}},
      2,
      _MAX,
    )

  def _update(self, name, removed=(), articles=(), counts=None):
    counts = counts or counts_lib.Counts()
    update = corpus_update.CorpusUpdate(self._path('old'), removed)
    batches = corpus_building.build(articles, update.tokenizer, _MAX, counts)
    return update.write(
      batches, self._path(name), {'kept': {'articles': 1}}, counts, 2
    )

  def _assert_same(self, first, second):
    paths = self._path(first), self._path(second)
    tables = [block_table.BlockTable.open(path) for path in paths]
    ids = np.arange(tables[0].num_blocks)
    for method in ('texts', 'titles', 'article_ids'):
      got, want = (getattr(table, method)(ids) for table in tables)
      self.assertEqual(got, want)
    for got, want in zip(*(t.gather(ids, 3, _MAX) for t in tables)):
      np.testing.assert_array_equal(got, want)
    for name in ('hashes', 'article_rows'):
      got, want = (np.asarray(getattr(table, name)) for table in tables)
      np.testing.assert_array_equal(got, want)
    got, want = (table.sentence_ends(1).tolist() for table in tables)
    self.assertEqual(got, want)

  def _is_shared(self, old_shard, name, shard):
    return os.path.samefile(
      corpus_writer.shard_path(self._path('old'), old_shard),
      corpus_writer.shard_path(self._path(name), shard),
    )

  def test_appended_is_as_made_at_once_and_shares_all_shards(self):
    old = self._make('old', _ARTICLES[:4])
    whole = self._make('whole', _ARTICLES)
    new = self._update('new', articles=_ARTICLES[4:])
    self.assertEqual(new.corpus_fingerprint, whole.corpus_fingerprint)
    self._assert_same('new', 'whole')
    self.assertLen(list(shards.read_blocks(self._path('new'))), new.num_blocks)
    for shard in range(len(old.shard_blocks)):
      self.assertTrue(self._is_shared(shard, 'new', shard))
    self.assertEqual(shards.read_manifest(self._path('old')), old)

  @parameterized.parameters(('a',), ('c',), ('f',), ('b', 'e'))
  def test_removed_is_as_made_without_and_shares_other_shards(self, *removed):
    old = self._make('old', _ARTICLES)
    self._make('whole', [a for a in _ARTICLES if a.article_id not in removed])
    counts = counts_lib.Counts()
    new = self._update('new', removed, counts=counts)
    self._assert_same('new', 'whole')
    self.assertEqual(
      counts.left_out, {'removed block': old.num_blocks - new.num_blocks}
    )
    table = block_table.BlockTable.open(self._path('old'))
    gone = np.isin(table.article_ids(range(old.num_blocks)), removed)
    starts = range(0, old.num_blocks, 2)
    untouched = [i for i in starts if not gone[i : i + 2].any()]
    self.assertNotEmpty(untouched)
    shared = [
      (i, j)
      for i in range(len(old.shard_blocks))
      for j in range(len(new.shard_blocks))
      if self._is_shared(i, 'new', j)
    ]
    self.assertEqual([2 * i for i, _ in shared], untouched)

  def test_an_article_is_replaced_and_known_blocks_are_not_added_twice(self):
    self._make('old', _ARTICLES[:3])
    changed = _ARTICLES[1]._replace(text='F e d.')
    counts = counts_lib.Counts()
    new = self._update('new', ['b'], [changed, _ARTICLES[0]], counts)
    table = block_table.BlockTable.open(self._path('new'))
    self.assertEqual(table.texts(table.find_article('b')), ['F e d.'])
    self.assertGreater(counts.left_out['duplicate block'], 1)
    self.assertLen(set(table.hashes.tolist()), new.num_blocks)

  def test_a_removed_block_may_come_back(self):
    old = self._make('old', _ARTICLES)
    new = self._update('new', ['f'], _ARTICLES[5:])
    self.assertEqual(new.corpus_fingerprint, old.corpus_fingerprint)

  def test_new_articles_get_new_numbers(self):
    self._make('old', _ARTICLES)
    update = corpus_update.CorpusUpdate(self._path('old'), [])
    self.assertEqual(update.num_articles, 8)  # Two lists had numbers too.
    self._update('new', articles=_ARTICLES[:1])
    again = corpus_update.CorpusUpdate(self._path('new'), [])
    self.assertEqual(again.num_articles, 9)

  def test_removing_what_is_not_there_or_all_is_a_user_error(self):
    self._make('old', _ARTICLES[:1])
    with self.assertRaisesRegex(errors.UserError, "none with id 'z'"):
      self._update('new', ['z'])
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      self._update('new', ['a'])
    self.assertFalse(os.path.exists(self._path('new')))


if __name__ == '__main__':
  absltest.main()
