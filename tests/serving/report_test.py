"""Tests for realm_tf.serving.report."""

import html.parser
import os
import re

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.run import examples as examples_lib
from realm_tf.serving import report
from realm_tf.serving import run_reader
from tests.serving import small_run

_UTILITY = [{'step': 1, 'marginal_retrieval_utility': 0.5}]
_EVIL = '</title><script>alert("x")</script><b onclick="x">'


class _Reader(html.parser.HTMLParser):
  """Collects tags and attributes of HTML."""

  def __init__(self, text):
    super().__init__()
    self.tags, self.attributes = [], []
    self.feed(text)

  def handle_starttag(self, tag, attrs):
    self.tags.append(tag)
    self.attributes += [(tag, *attr) for attr in attrs]

  def values(self, name):
    return [value for _, n, value in self.attributes if n == name]


class PageTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path

  def _build(self, *names, compared=(), **content):
    paths = [
      small_run.write(os.path.join(self.folder, name), **content)
      for name in names
    ]
    runs = run_reader.read(paths)
    evaluations = run_reader.evaluations(runs, [])
    return report.build(runs, evaluations, compared)

  def _headings(self, text):
    return re.findall('<h2[^>]*>([^<]*)', text)

  def test_every_kind_of_content_has_a_section(self):
    text = self._build('run', rows=_UTILITY, examples=[small_run.EXAMPLE])
    headings = ['What retrieval learns', 'Examples']
    self.assertEqual(self._headings(text), headings)
    self.assertIn('step: all together 0.5"', text)
    self.assertIn('<mark>pound</mark>', text)
    self.assertEmpty(self._headings(self._build('only a log')))

  def test_the_comparison_comes_first(self):
    systems = {_EVIL: np.array([[61.5], [60.25], [63.0]])}
    text = self._build(
      'run',
      examples=[small_run.EXAMPLE],
      compared=[run_reader.Comparison('x', 'exact match', [''], systems)],
    )
    self.assertEqual(self._headings(text), ['Result', 'Examples'])
    self.assertLess(text.index('<img'), text.index('<table'))
    self.assertIn('<b>61.5 ±1.4</b>', text)
    self.assertNotIn('script', _Reader(text).tags)

  def test_risk_by_coverage_has_a_picture(self):
    runs = run_reader.read([small_run.write(os.path.join(self.folder, 'run'))])
    found = run_reader.Evaluation(
      'all', {}, {'a_set': {'answered': 7.25}}, [(0.5, 0.0), (1.0, 0.125)]
    )
    text = report.build(runs, [found])
    self.assertIn('Confidence', self._headings(text))
    self.assertIn('in %: all 12.5', text)
    self.assertIn('<th scope="row">a set</th>', text)
    self.assertIn('7.25', text)

  def test_the_page_is_self_contained_and_links_to_each_section(self):
    text = self._build('run', rows=_UTILITY, examples=[small_run.EXAMPLE])
    reader = _Reader(text)
    links = [v for v in reader.values('href') if v.startswith('#')]
    sections = [v for t, n, v in reader.attributes if (t, n) == ('h2', 'id')]
    self.assertEqual([link[1:] for link in links[: len(sections)]], sections)
    ids = reader.values('id')
    self.assertLen(set(ids), len(ids))
    for name in ('href', 'data', 'action'):
      for value in reader.values(name):
        self.assertStartsWith(value, '#')
    for value in reader.values('src'):
      self.assertStartsWith(value, 'data:image/svg+xml;base64,')
    self.assertNoCommonElements(
      reader.tags, ['script', 'link', 'iframe', 'object']
    )
    self.assertNotRegex(text, r'https?:|@import|url\((?!#)')
    # The policy makes browsers refuse resources, too.
    self.assertIn("default-src 'none'", reader.values('content')[0])

  def test_untrusted_text_stays_text(self):
    candidate = examples_lib.Candidate(1, _EVIL, _EVIL, 0.5, 0.5, 0.0)
    text = self._build(
      'run <script>',
      rows=[{'step': 1, 'loss': 1.0, _EVIL: 2.0}],
      examples=[examples_lib.Example(1, _EVIL, [(0, 5)], [candidate])],
      metrics={'eval <script>': {'answered': _EVIL}},
    )
    reader = _Reader(text)
    self.assertNotIn('script', reader.tags)
    self.assertEmpty(reader.values('onclick'))
    self.assertEqual(reader.tags.count('title'), 1)
    self.assertIn('&lt;script&gt;alert(&#34;x&#34;)', text)

  def test_runs_share_a_drawing(self):
    text = self._build('a', 'b', rows=_UTILITY, examples=[small_run.EXAMPLE])
    self.assertIn('<h3>a, step 10</h3>', text)
    self.assertIn('<h3>b, step 10</h3>', text)
    self.assertEqual(text.count('<img'), 1)
    self.assertIn('a, all together 0.5; b, all together 0.5', text)
    self.assertIn('<h1>Report: a, b</h1>', text)

  def test_each_set_of_an_evaluation_has_a_row_on_refusing(self):
    found = run_reader.Evaluation(
      'all',
      {'answered': 60.0, 'auroc': 95.0},
      {'missing_test': {'answered': 10.0, 'coverage@90': 5.0}, 'x': {}},
    )
    own = run_reader.Evaluation('missing_test', {'answered': 10.0})
    self.assertEqual(
      report.of_refusing([own, found]),
      [
        ['all', 60.0, '–', '–', '–', 95.0, '–', '–', '–'],
        ['missing test', 10.0, '–', '–', '–', '–', '–', 5.0, '–'],
      ],
    )


class ExamplesTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('in_any_case', 'a pound', [(2, 7)], 'Pounds. POUND.', ['POUND']),
    ('joined_again', 'the u . s . a', [(4, 11)], 'The U.S. is', ['U.S.']),
    ('no_pattern', 'a a+ a', [(2, 4)], 'aaa a+ b', ['a+']),
    ('two', 'at 4 b', [(3, 4), (5, 6)], 'b at 4, 14', ['b', '4']),
    ('none', 'at 4', [], 'at 4', []),
  )
  def test_marks_the_masked_words(self, query, masked, text, expected):
    candidate = examples_lib.Candidate(1, 'T', text, 0.5, 0.5, None)
    _, [(_, pieces)] = report.of_example(
      examples_lib.Example(1, query, masked, [candidate])
    )
    self.assertEqual([piece for piece, marked in pieces if marked], expected)
    self.assertEqual(''.join(piece for piece, _ in pieces), text)


if __name__ == '__main__':
  absltest.main()
