"""Tests for realm_tf.serving.report: the whole page."""

import html.parser
import json
import os
import re

from absl.testing import absltest

from realm_tf.run import examples as examples_lib
from realm_tf.serving import report
from realm_tf.serving import run_reader
from tests.serving import small_run

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

  def _build(self, *names, eval_dirs=(), **content):
    paths = [
      small_run.write(os.path.join(self.folder, name), **content)
      for name in names
    ]
    runs = run_reader.read(paths)
    return report.build(runs, run_reader.evaluations(runs, eval_dirs))

  def _headings(self, text):
    return re.findall('<h2[^>]*>([^<]*)', text)

  def _results(self, **content):
    path = os.path.join(self.folder, 'table1.json')
    with open(path, 'w') as file:
      json.dump(content, file)
    return run_reader.results([path])

  def test_every_kind_of_content_has_a_section(self):
    text = self._build(
      'run',
      rows=[{'step': 1, 'marginal_retrieval_utility': 0.5}],
      examples=[small_run.EXAMPLE],
    )
    self.assertEqual(
      self._headings(text), ['Result', 'What retrieval learns', 'Examples']
    )
    self.assertIn('>all together 0.5<', text)
    self.assertIn('<mark>pound</mark>', text)

  def test_the_comparison_comes_first(self):
    rows = [
      {'system': 'REALM after 0 questions', 'exact_match': 1.25},
      {'system': _EVIL, 'exact_match': 61.5, 'interval': [60.25, 63.0]},
    ]
    results = self._results(title='In other words', tables=[rows])
    runs = run_reader.read([small_run.write(os.path.join(self.folder, 'run'))])
    text = report.build(runs, [], results)
    self.assertLess(text.index('<svg'), text.index('<table'))
    self.assertIn('<b>61.5 ±1.4</b>', text)
    self.assertIn('1.25', text)
    self.assertNotIn('script', _Reader(text).tags)

  def test_risk_by_coverage_has_a_picture(self):
    runs = run_reader.read([small_run.write(os.path.join(self.folder, 'run'))])
    found = run_reader.Evaluation(
      'my_test', {}, {'a_set': {'answered': 7.25}}, [(0.5, 0.0), (1.0, 0.125)]
    )
    text = report.build(runs, [found])
    self.assertIn('Confidence', self._headings(text))
    self.assertIn('in %: all questions 12.5', text)
    self.assertIn('<th scope="row">a set</th>', text)
    self.assertIn('7.25', text)

  def test_a_run_with_only_a_log_has_no_empty_section(self):
    self.assertEqual(self._headings(self._build('run')), ['Result'])

  def test_contents_link_to_each_section(self):
    reader = _Reader(self._build('run', examples=[small_run.EXAMPLE]))
    links = [v for v in reader.values('href') if v.startswith('#')]
    sections = [v for t, n, v in reader.attributes if (t, n) == ('h2', 'id')]
    self.assertEqual([link[1:] for link in links[: len(sections)]], sections)
    ids = reader.values('id')
    self.assertLen(set(ids), len(ids))

  def test_the_page_is_self_contained(self):
    text = self._build('run', examples=[small_run.EXAMPLE])
    reader = _Reader(text)
    for name in ('src', 'href', 'data', 'action'):
      for value in reader.values(name):
        self.assertStartsWith(value, '#')
    self.assertNoCommonElements(
      reader.tags, ['script', 'link', 'iframe', 'object', 'img']
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

  def test_the_same_input_gives_the_same_page(self):
    first = self._build('run', examples=[small_run.EXAMPLE])
    runs = run_reader.read([os.path.join(self.folder, 'run')])
    self.assertEqual(report.build(runs, []), first)

  def test_runs_share_a_drawing(self):
    rows = [{'step': 1, 'marginal_retrieval_utility': 0.5}]
    text = self._build('a', 'b', rows=rows, examples=[small_run.EXAMPLE])
    self.assertIn('<h3>a, step 10</h3>', text)
    self.assertIn('<h3>b, step 10</h3>', text)
    self.assertEqual(text.count('<svg'), 1)
    self.assertIn('>a, all together 0.5<', text)
    self.assertIn('>b, all together 0.5<', text)

  def test_the_title_names_the_kinds_of_training(self):
    runs = run_reader.read(
      [
        small_run.write(os.path.join(self.folder, metric), rows)
        for metric in ('marginal_retrieval_utility', 'span_log_likelihood')
        for rows in [[{'step': 3, metric: 1.0}]]
      ]
    )
    self.assertIn(
      '<h1>Report: pre-training, training on questions</h1>',
      report.build(runs, []),
    )


if __name__ == '__main__':
  absltest.main()
