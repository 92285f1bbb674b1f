"""Tests for realm_tf.data.{corpus_building,encoded_blocks}."""

import os

from absl.testing import absltest
import hypothesis
from hypothesis import strategies as st
import numpy as np

from realm_tf.corpus import blocks
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import corpus_files
from tests import tiny

_MAX = tiny.MAX_BLOCK_WORDPIECES
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

  def test_batches_do_not_change_the_blocks(self):
    _, manifest, _ = self._write(tiny.ARTICLES)
    expected = tiny.write_blocks(
      tiny.cut(), os.path.join(self.create_tempdir(), 'corpus')
    )
    for name in ('files', 'corpus_fingerprint'):
      self.assertEqual(manifest[name], expected[name])

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
    self.assertEqual(
      ''.join(part.text for batch in batches for part in batch), text
    )
    for part in (part for batch in batches for part in batch):
      self.assertLessEqual(len(part.text), 500_000)
      self.assertEqual(part.article_id, 'book')


class EncodedBlocksTest(absltest.TestCase):
  def test_select_keeps_rows_of_all_columns(self):
    cut = tiny.cut()
    is_kept = np.array([True, False, False, True])
    selected = block_table.encode(cut).select(is_kept)
    expected = block_table.encode([cut[0], cut[3]])
    for name, got in selected._asdict().items():
      want = getattr(expected, name)
      if isinstance(got, columns.Rows):
        np.testing.assert_array_equal(got.lengths(), want.lengths(), name)
        got, want = got.values, want.values
      np.testing.assert_array_equal(got, want, name)
    self.assertEqual(selected.articles(), [('first', 'a'), ('third', 'c')])

  def test_hash_is_of_title_and_text(self):
    block = tiny.cut()[0]
    variants = [
      block,
      block._replace(article_id='other'),
      block._replace(title='b'),
      block._replace(text='B.'),
    ]
    hashes = block_table.encode(variants).hashes
    self.assertEqual(hashes[0], hashes[1])
    self.assertLen(set(hashes.tolist()), 3)


class CutTest(absltest.TestCase):
  def test_without_a_bound_each_text_is_one_unchanged_block(self):
    (batch,) = corpus_files.cut(_UNCUT, tiny.TOKENIZER, None)
    self.assertEqual(batch.texts.texts(), [a.text for a in _UNCUT])
    self.assertEqual(batch.body_ids.lengths().tolist(), [6, 2, 0, 500, 6])
    # 'A b .' and 'C d .' are sentences.
    np.testing.assert_array_equal(batch.sentence_ends.arrays()[0], [3, 6])
    np.testing.assert_array_equal(batch.article_rows, [0, 0, 1, 2, 3])


class SeenHashesTest(absltest.TestCase):
  @hypothesis.given(st.lists(_HASHES))
  def test_agrees_with_a_set(self, batches):
    seen, expected = corpus_files.SeenHashes(), set()
    for batch in batches:
      is_new = []
      for value in batch:
        is_new.append(value not in expected)
        expected.add(value)
      np.testing.assert_array_equal(
        seen.add(np.array(batch, np.uint64)), is_new
      )


if __name__ == '__main__':
  absltest.main()
