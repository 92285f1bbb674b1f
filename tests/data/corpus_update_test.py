"""Tests for realm_tf.data.corpus_update."""

import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
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
    """Writes a corpus from scratch."""
    return corpus_files.write(
      corpus_files.cut(articles, tiny.TOKENIZER, _MAX),
      self._path(name),
      tiny.TOKENIZER,
      source={'kept': {'articles': len(articles)}, 'left_out': {'list': 2}},
      max_block_wordpieces=_MAX,
    )

  def _update(self, name, removed=(), articles=(), counts=None):
    counts = counts or counts_lib.Counts()
    update = corpus_files.CorpusUpdate(self._path('old'), removed)
    batches = corpus_files.cut(articles, update.tokenizer, _MAX)
    return update.write(
      batches, self._path(name), source={'kept': {'articles': 1}}, counts=counts
    )

  @parameterized.parameters(1, 3, 4096)
  def test_appending_equals_making_at_once(self, batch_blocks):
    old = self._make('old', _ARTICLES[:4])
    whole = self._make('whole', _ARTICLES)
    with mock.patch.object(corpus_files, '_BATCH_BLOCKS', batch_blocks):
      new = self._update('new', articles=_ARTICLES[4:])
    for name in ('corpus_fingerprint', 'files', 'num_blocks'):
      self.assertEqual(new[name], whole[name])
    self.assertEqual(block_table.read_manifest(self._path('old')), old)

  @parameterized.parameters(('a',), ('c',), ('f',), ('b', 'e'))
  def test_removing_equals_making_without(self, *removed):
    old = self._make('old', _ARTICLES)
    whole = self._make(
      'whole', [a for a in _ARTICLES if a.article_id not in removed]
    )
    counts = counts_lib.Counts()
    new = self._update('new', removed, counts=counts)
    for name in ('corpus_fingerprint', 'files', 'num_blocks'):
      self.assertEqual(new[name], whole[name])
    self.assertEqual(
      counts.left_out, {'removed block': old['num_blocks'] - new['num_blocks']}
    )

  def test_an_article_is_replaced_and_known_blocks_are_not_added_twice(self):
    self._make('old', _ARTICLES[:3])
    changed = _ARTICLES[1]._replace(text='F e d.')
    counts = counts_lib.Counts()
    new = self._update('new', ['b'], [changed, _ARTICLES[0]], counts)
    table = block_table.BlockTable.open(self._path('new'))
    self.assertEqual(table.texts(table.find_article('b')), ['F e d.'])
    self.assertGreater(counts.left_out['duplicate block'], 1)
    self.assertLen(set(table.hashes.tolist()), new['num_blocks'])

  def test_a_removed_article_may_be_added_again(self):
    old = self._make('old', _ARTICLES)
    new = self._update('new', ['f'], _ARTICLES[5:])
    self.assertEqual(new['corpus_fingerprint'], old['corpus_fingerprint'])

  def test_new_articles_get_new_numbers(self):
    self._make('old', _ARTICLES)
    update = corpus_files.CorpusUpdate(self._path('old'), [])
    self.assertEqual(update.num_articles, 8)  # The two lists have numbers too.
    self._update('new', articles=_ARTICLES[:1])
    again = corpus_files.CorpusUpdate(self._path('new'), [])
    self.assertEqual(again.num_articles, 9)

  def test_removing_an_unknown_article_or_all_is_a_user_error(self):
    self._make('old', _ARTICLES[:1])
    with self.assertRaisesRegex(errors.UserError, "none with id 'z'"):
      self._update('new', ['z'])
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      self._update('new', ['a'])
    self.assertFalse(os.path.exists(self._path('new')))


if __name__ == '__main__':
  absltest.main()
