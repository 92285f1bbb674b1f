"""Tests for realm_tf.data.query_table."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.data import null_block
from realm_tf.data import query_table
from tests import tiny

_ONE = tiny.Corpus('one', [70, 80, 90, *range(100, 110)])


def _query(length, *spans, own_block=null_block.ID, text=''):
  return tiny.query(range(1, length + 1), spans, own_block, text)


class QueryTableTest(absltest.TestCase):
  def _write(self, queries, masking='salient', corpus=_ONE):
    directory = tiny.write_queries(
      self.create_tempdir().full_path, queries, masking, corpus
    )
    return query_table.QueryTable.open(directory)

  def test_queries_come_back(self):
    table = self._write(
      [
        _query(3, (0, 2), (2, 3), own_block=7, text='Zürich 1969'),
        _query(2, (1, 2)),
      ]
    )
    self.assertEqual(table.num_queries, 2)
    self.assertEqual(table.manifest['num_queries'], 2)
    self.assertEqual(table.manifest['corpus_fingerprint'], 'one')
    first, second = table.query(0), table.query(1)
    self.assertEqual(first.ids.tolist(), [1, 2, 3])
    self.assertEqual(first.spans.tolist(), [[0, 2], [2, 3]])
    self.assertEqual((first.own_block, first.text), (7, 'Zürich 1969'))
    self.assertEqual(second.spans.tolist(), [[1, 2]])
    self.assertEqual(table.own_blocks.tolist(), [7, -1])

  def test_drops_and_counts_long_spans_and_queries_without_a_span(self):
    table = self._write(
      [
        _query(20, (0, 11), (5, 15)),  # 11 and 10 wordpieces.
        _query(20, (0, 11)),
        _query(4),
      ]
    )
    self.assertEqual(table.num_queries, 1)
    self.assertEqual(table.query(0).spans.tolist(), [[5, 15]])
    self.assertEqual(
      table.manifest['num_dropped'],
      {'spans_too_long': 2, 'queries_without_span': 2},
    )

  def test_random_masking_needs_no_span(self):
    table = self._write([_query(4)], 'random_token')
    self.assertEqual(table.query(0).spans.shape, (0, 2))

  def test_finds_own_blocks_in_a_corpus_with_other_blocks(self):
    queries = [
      _query(3, (0, 1), own_block=own) for own in (2, null_block.ID, 0, 1)
    ]
    table = self._write(queries)
    table.fit_corpus(_ONE)
    self.assertEqual(table.own_blocks.tolist(), [2, -1, 0, 1])
    with self.assertLogs(level='WARNING') as logs:
      # The second block, with hash 80, is missing; 60 and 10 are new.
      table.fit_corpus(tiny.Corpus('two', [60, 90, 10, 70]))
    self.assertEqual(table.own_blocks.tolist(), [1, -1, 3, -1])
    self.assertIn('this corpus lacks 1 of these', logs.output[0])

  def test_a_corpus_of_other_text_is_a_user_error(self):
    table = self._write([_query(3, (0, 1), own_block=0)])
    for other in (
      tiny.Corpus('two', [60, 90]),
      tiny.Corpus('one', _ONE.hashes, vocabulary_sha256='other'),
    ):
      with self.assertRaisesRegex(errors.UserError, 'must be made with the co'):
        table.fit_corpus(other)

  def test_queries_without_own_blocks_fit_any_corpus(self):
    table = self._write([_query(3, (0, 1))])
    table.fit_corpus(tiny.Corpus('two', []))
    self.assertEqual(table.own_blocks.tolist(), [-1])

  def test_nothing_left_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, "'queries_without_span': 1"):
      self._write([_query(4)])


if __name__ == '__main__':
  absltest.main()
