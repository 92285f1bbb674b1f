"""Tests for realm_tf.records.inspection."""

from absl.testing import absltest
import numpy as np

from realm_tf.records import inspection
from realm_tf.records import query_table
from tests import tiny

_QUERY = query_table.Query(
  ids=np.array([6, 7, 8, 9, 5], np.int32),
  spans=np.array([[1, 3], [3, 4]], np.int32),
  own_block=2,
  text='A b c <d>.',
)


class InspectionTest(absltest.TestCase):
  def _queries(self):
    queries_dir = self.create_tempdir().full_path + '/queries'
    bare = _QUERY._replace(spans=np.zeros([0, 2], np.int32), own_block=-1)
    query_table.write_queries(
      [_QUERY, bare],
      queries_dir,
      query_table.QueriesInfo(
        tiny.TOKENIZER.vocabulary_sha256,
        'random_span',
        None,
        {
          'input': ['x', 'y'],
          'left_out': {'redirect': 3},
          'max_articles': None,
        },
      ),
    )
    queries = query_table.QueryTable.open(queries_dir)
    return inspection.of_queries(queries, tiny.TOKENIZER, 5, seed=0)

  def test_corpus(self):
    table = tiny.open_corpus(self.create_tempdir().full_path)
    report = inspection.of_corpus(table, 3, seed=0)
    self.assertEqual(report.facts['blocks'], 4)
    self.assertEqual(report.facts['articles with blocks'], 3)
    # Two sentences of three wordpieces, a title of one, and three specials.
    (lengths,) = report.histograms.values()
    np.testing.assert_array_equal(lengths, [10, 10, 10, 10])
    self.assertLen(report.examples, 3)
    again = inspection.of_corpus(table, 3, seed=0).examples
    self.assertEqual(report.examples, again)
    self.assertLen(inspection.of_corpus(table, 9, seed=0).examples, 4)

  def test_queries_have_their_salient_spans_marked(self):
    report = self._queries()
    self.assertEqual(report.facts['queries with a block of their own'], '50.0%')
    self.assertEqual(report.facts['left out: redirect'], 3)
    self.assertEqual(report.facts['input'], 'x, y')
    self.assertNotIn('max articles', report.facts)
    heading, pieces = report.examples[0]
    self.assertEqual(heading, 'Query 0')
    self.assertEqual(''.join(piece.text for piece in pieces), _QUERY.text)
    self.assertEqual(
      [piece.text for piece in pieces if piece.is_marked], ['b c', '<']
    )

  def test_text_marks_by_color_or_brackets(self):
    report = self._queries()
    self.assertIn('A [b c] [<]d>.', inspection.as_text(report, colored=False))
    colored = inspection.as_text(report, colored=True)
    self.assertIn('A \033[30;43mb c\033[0m ', colored)

  def test_page_is_escaped_and_whole(self):
    page = inspection.as_html(self._queries())
    self.assertIn(
      'A <mark>b c</mark> <mark>&lt;</mark>d&gt;.', page.replace('\n', '')
    )
    self.assertNotIn('http', page)

  def test_histograms_count_everything_once(self):
    for values in ([7], [0, 0, 5], range(100), [3, 3, 3]):
      values = np.array(values)
      text = inspection.as_text(
        inspection.Report('T', {}, {'lengths': values}, []), colored=False
      )
      counts = [int(line.split()[-1]) for line in text.splitlines()[3:]]
      self.assertEqual(sum(counts), len(values), text)
      self.assertLessEqual(len(counts), 13)


if __name__ == '__main__':
  absltest.main()
