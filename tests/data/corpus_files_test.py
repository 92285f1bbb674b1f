"""Tests for realm_tf.data.corpus_files."""

import errno
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import hypothesis
from hypothesis import strategies as st
import numpy as np

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.run import outputs
from realm_tf.run import run_lock
from realm_tf.text import character_table
from realm_tf.text import wordpiece
from tests import fakes
from tests import tiny

_MAX = tiny.MAX_BLOCK_WORDPIECES
_TOKENIZER = fakes.tokenizer('. a b c')
_ARTICLES = [
  sources.Article('Á', 'A b. C a. B.', 'x'),
  sources.Article('B', 'C. 東 a.', 'y'),
]


class CorpusFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir(), 'corpus')
    # Bodies have at most 4 wordpieces: [A b.] [C a.] ...
    self.blocks = tiny.cut(_ARTICLES, _TOKENIZER, 8)

  def _write(self, blocks=None, tokenizer=_TOKENIZER):
    blocks = self.blocks if blocks is None else blocks
    return tiny.write_blocks(blocks, self.directory, tokenizer, 8)

  def test_blocks_come_back_in_order(self):
    self._write()
    table = block_table.BlockTable.open(self.directory)
    rows = range(table.num_blocks)
    self.assertEqual(table.titles(rows), [b.title for b in self.blocks])
    self.assertEqual(table.texts(rows), [b.text for b in self.blocks])
    self.assertEqual(table.article_ids(rows), ['x', 'x', 'x', 'y', 'y'])
    expected = block_table.encode(self.blocks)
    tiny.assert_columns_equal(table.encoded(0, len(rows)), expected)

  def test_manifest_has_the_fields_of_the_contract(self):
    manifest = self._write()
    fields = {'files', *block_table.KIND.fields} - {'links'}
    self.assertContainsSubset(fields, manifest)
    self.assertEqual(manifest['num_blocks'], 5)
    self.assertEqual(manifest['max_block_wordpieces'], 8)
    self.assertEqual(block_table.read_manifest(self.directory), manifest)
    self.assertEqual(os.listdir(os.path.dirname(self.directory)), ['corpus'])

  def test_rules_are_written_with_the_vocabulary(self):
    cased = wordpiece.WordpieceTokenizer(
      _TOKENIZER.vocabulary, character_table.CharacterRules(lowercase=False)
    )
    manifest = self._write(tokenizer=cased)
    found = wordpiece.WordpieceTokenizer.from_file(
      self.directory + '/vocab.txt'
    )
    self.assertEqual(found.rules, cased.rules)
    self.assertEqual(found.vocabulary_sha256, manifest['vocabulary_sha256'])

  def test_fingerprint_depends_on_content_and_order(self):
    first, *others = self.blocks
    ends = np.array([1, 3])
    fingerprints = {
      self._write(blocks)['corpus_fingerprint']
      for blocks in (
        self.blocks,
        self.blocks[::-1],
        self.blocks[:-1],
        [first._replace(text='A b'), *others],
        [first._replace(title='A'), *others],
        [first._replace(article_id='z'), *others],
        [first._replace(sentence_ends=ends), *others],
      )
    }
    self.assertLen(fingerprints, 7)
    self.assertIn(self._write()['corpus_fingerprint'], fingerprints)

  def test_no_blocks_and_a_full_disk_are_user_errors_and_leave_nothing(self):
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      self._write([])
    self.assertEmpty(os.listdir(os.path.dirname(self.directory)))
    with (
      self.assertRaisesRegex(errors.UserError, f'{self.directory}.*No space'),
      outputs.publishing(self.directory) as (staging, _),
    ):
      with open(os.path.join(staging, 'table'), 'w') as file:
        file.write('half')
      raise OSError(errno.ENOSPC, 'No space left on device')
    self.assertEmpty(os.listdir(os.path.dirname(self.directory)))

  def test_a_disk_that_fills_in_the_last_move_leaves_nothing(self):
    moves = [os.replace] * 2 + [mock.Mock(side_effect=OSError('No space'))]
    with (
      mock.patch.object(os, 'replace', lambda *paths: moves.pop(0)(*paths)),
      self.assertRaisesRegex(errors.UserError, 'Nothing is left'),
    ):
      self._write()
    files = [f for _, _, names in os.walk(self.directory) for f in names]
    self.assertEqual(files, [])


_UNCUT = [
  sources.Article('A', 'A b. C d.', '0'),
  sources.Article('A', ' e  f ', '0'),  # White space stays.
  sources.Article('', '', '2'),
  sources.Article('', 'a ' * 500, '3'),  # Longer than any block.
  sources.Article('A', 'A b. C d.', '4'),  # A repetition of the first.
]
_HASHES = st.lists(
  st.one_of(st.integers(0, 20), st.integers(2**64 - 20, 2**64 - 1))
)


class CorpusBuildingTest(absltest.TestCase):
  def _write(self, articles, num_workers=1):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    counts = counts_lib.Counts()
    manifest = corpus_files.write(
      corpus_files.without_duplicates(
        corpus_files.cut(articles, tiny.TOKENIZER, _MAX, num_workers), counts
      ),
      directory,
      tiny.TOKENIZER,
      source={'left_out': counts.left_out},
      max_block_wordpieces=_MAX,
    )
    return block_table.BlockTable.open(directory), manifest, counts

  def test_any_number_of_workers_writes_the_same_corpus(self):
    # Three batches of 1024 articles; each article has its own title.
    letters = 'abcdef'
    articles = [
      sources.Article(
        ' '.join(letters[i // 6**j % 6] for j in range(5)),
        'A b. C d. E f. A a.' if i % 3 else 'A b.',
        str(i),
      )
      for i in range(3000)
    ]
    one, two = (self._write(articles, n)[1] for n in (1, 2))
    key = 'corpus_fingerprint'
    self.assertEqual(one[key], two[key])
    self.assertGreater(one['num_blocks'], 3000)

  def test_exact_duplicates_are_dropped_and_counted(self):
    again = tiny.ARTICLES[2]._replace(article_id='again')
    other_title = tiny.ARTICLES[0]._replace(title='b', article_id='other')
    once = tiny.ARTICLES[1]._replace(text='A a.', article_id='once')
    table, manifest, counts = self._write(
      [*tiny.ARTICLES, again, other_title, once]
    )
    # Both blocks of 'again' are duplicates; 'other' has another title.
    self.assertEqual(manifest['num_blocks'], 4 + 2)
    self.assertEqual(counts.left_out, {'duplicate block': 2})
    self.assertEqual(
      table.article_ids(range(6)),
      ['first', 'second', 'third', 'third', 'other', 'once'],
    )
    self.assertEqual(table.texts([5]), ['A a.'])
    self.assertEqual(list(table.find_article('third')), [2, 3])
    self.assertEmpty(table.find_article('again'))

  def test_a_book_is_tokenized_in_parts(self):
    text = 'A b c d. E f. ' * 150_000  # Four parts, two batches.
    batches = list(blocks.batches([sources.Article('a', text, 'book')]))
    self.assertGreater(len(batches), 1)
    parts = [part for batch in batches for part in batch]
    self.assertEqual(''.join(part.text for part in parts), text)
    for part in parts:
      self.assertLessEqual(len(part.text), 500_000)
      self.assertEqual(part.article_id, 'book')


class BatchesTest(absltest.TestCase):
  def test_select_keeps_rows_of_all_columns(self):
    cut = tiny.cut()
    is_kept = np.array([True, False, False, True])
    selected = block_table.encode(cut).select(is_kept)
    tiny.assert_columns_equal(selected, block_table.encode([cut[0], cut[3]]))
    self.assertEqual(selected.articles(), [('first', 'a'), ('third', 'c')])

  def test_without_a_bound_each_text_is_one_unchanged_block(self):
    (batch,) = corpus_files.cut(_UNCUT, tiny.TOKENIZER, None)
    self.assertEqual(batch.texts.texts(), [a.text for a in _UNCUT])
    self.assertEqual(batch.body_ids.lengths().tolist(), [6, 2, 0, 500, 6])
    # 'A b .' and 'C d .' are sentences.
    np.testing.assert_array_equal(batch.sentence_ends.arrays()[0], [3, 6])
    np.testing.assert_array_equal(batch.article_rows, [0, 0, 1, 2, 3])

  @hypothesis.given(st.lists(_HASHES))
  def test_seen_hashes_agree_with_a_set(self, batches):
    seen, expected = corpus_files.SeenHashes(), set()
    for batch in batches:
      is_new = []
      for value in batch:
        is_new.append(value not in expected)
        expected.add(value)
      np.testing.assert_array_equal(
        seen.add(np.array(batch, np.uint64)), is_new
      )


_LETTERS = [
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

  def _assert_same(self, new, whole):
    for name in ('corpus_fingerprint', 'files', 'num_blocks'):
      self.assertEqual(new[name], whole[name])

  @parameterized.parameters(1, 3, 4096)
  def test_appending_equals_making_at_once(self, batch_blocks):
    old = self._make('old', _LETTERS[:4])
    with mock.patch.object(corpus_files, '_BATCH_BLOCKS', batch_blocks):
      new = self._update('new', articles=_LETTERS[4:])
    self._assert_same(new, self._make('whole', _LETTERS))
    self.assertEqual(block_table.read_manifest(self._path('old')), old)

  def test_an_article_is_replaced_and_known_blocks_are_not_added_twice(self):
    self._make('old', _LETTERS[:3])
    changed = _LETTERS[1]._replace(text='F e d.')
    counts = counts_lib.Counts()
    new = self._update('new', ['b'], [changed, _LETTERS[0]], counts)
    table = block_table.BlockTable.open(self._path('new'))
    self.assertEqual(table.texts(table.find_article('b')), ['F e d.'])
    self.assertGreater(counts.left_out['duplicate block'], 1)
    self.assertEqual(counts.left_out['removed block'], 3)
    self.assertLen(set(table.hashes.tolist()), new['num_blocks'])

  def test_new_articles_get_new_numbers(self):
    self._make('old', _LETTERS)
    update = corpus_files.CorpusUpdate(self._path('old'), [])
    self.assertEqual(update.num_articles, 8)  # The two lists have numbers too.
    self._update('new', articles=_LETTERS[:1])
    again = corpus_files.CorpusUpdate(self._path('new'), [])
    self.assertEqual(again.num_articles, 9)

  def test_a_corpus_that_other_code_cut_is_told(self):
    self._make('old', _LETTERS[:1])
    with self.assertNoLogs(level='WARNING'):
      self._update('same', articles=_LETTERS[1:2])
    with (
      mock.patch.object(run_lock, 'code', lambda: 'other'),
      self.assertLogs(level='WARNING') as logs,
    ):
      self._update('new', articles=_LETTERS[1:2])
    self.assertIn('last written by other code', logs.output[0])

  def test_removing_an_unknown_article_or_all_is_a_user_error(self):
    self._make('old', _LETTERS[:1])
    with self.assertRaisesRegex(errors.UserError, "none with id 'z'"):
      self._update('new', ['z'])
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      self._update('new', ['a'])
    self.assertFalse(os.path.exists(self._path('new')))


if __name__ == '__main__':
  absltest.main()
