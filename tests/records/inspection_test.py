"""Tests for realm_tf.records.inspection."""

from absl.testing import absltest
import numpy as np

from realm_tf.records import inspection
from realm_tf.records import query_table
from tests import tiny

_QUERY = tiny.query([6, 7, 8, 9, 5], [[1, 3], [3, 4]], 2, 'A b c <d>.')


class InspectionTest(absltest.TestCase):
  def _queries(self):
    queries_dir = self.create_tempdir().full_path + '/queries'
    bare = _QUERY._replace(spans=np.zeros([0, 2], np.int32), own_block=-1)
    query_table.write(
      [_QUERY, bare],
      queries_dir,
      tiny.Corpus(),
      masking='random_span',
      source={
        'input': ['x', 'y'],
        'left_out': {'redirect': 3},
        'max_articles': None,
      },
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
    self.assertEqual(lengths.bins, [('10', 4)])
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
    self.assertEqual(''.join(text for text, _ in pieces), _QUERY.text)
    self.assertEqual(
      [text for text, is_marked in pieces if is_marked], ['b c', '<']
    )

  def test_text_marks_by_color_or_brackets(self):
    report = self._queries()
    self.assertIn('A [b c] [<]d>.', inspection.as_text(report, colored=False))
    colored = inspection.as_text(report, colored=True)
    self.assertIn('A \033[30;43mb c\033[0m ', colored)

  def test_histograms_count_everything_once(self):
    for values in ([7], [0, 0, 5], range(100), [3, 3, 3]):
      histogram = inspection.histogram(np.array(values))
      counts = [count for _, count in histogram.bins]
      self.assertEqual(sum(counts), len(values), histogram)
      self.assertLessEqual(len(counts), 13)
      report = inspection.Report('T', {}, {'lengths': histogram}, [])
      lines = inspection.as_text(report, colored=False).splitlines()[3:]
      self.assertEqual([int(line.split()[-1]) for line in lines], counts)

  def test_the_percentiles_of_a_histogram(self):
    # From 0 to 100, percentile p is p.
    self.assertEqual(
      inspection.histogram(np.arange(101)).summary,
      'mean 50.0, median 50, 5 % below 5, 5 % above 95',
    )


if __name__ == '__main__':
  absltest.main()
