"""Tests for realm_tf.corpus.wikiextractor."""

import json

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.corpus import wikiextractor
from tests import input_case
from tests import linear_time


class WikiExtractorTest(input_case.InputCase):
  def _read(self, text):
    return self.articles(self.file(text), format='wikiextractor')

  @parameterized.parameters(
    ('A <br>b, &lt;br /&gt;c', 'A\nb,\nc'),
    ('<poem style="x">A\nb</poem>', 'A\nb'),
    ('A.\n<section end="x" />\n<onlyinclude>\nB.', 'A.\nB.'),
    ('5&amp;nbsp;km&lt;sup&gt;2&lt;/sup&gt;', '5 km²'),
    ('Section::::Life.\nA.\nBULLET::::- BULLET::::- B', 'A.\nB'),
    ('It is formula_12. It rains.', 'It rains.'),
    ('Call codice_3 first. It rains.', 'It rains.'),
    ('A.<ref name="x">B</ref>\n{{reflist}}\n[[Category:C]]', 'A.'),
    ('A [[b|c]] of {{convert|5|km}}.', 'A c of 5 km.'),
    ('a&lt;b, "&lt;" and vector&lt;int&gt;', 'a<b, "<" and vector<int>'),
    ('Tom &amp;amp; Jerry', 'Tom & Jerry'),
    ('A.\n\n - B', 'A.\n\n - B'),
    ('A.\n\n - B<b/>\n C', 'A.\n\n- B\n C'),
    ('As of 2011[ [update]], it rains.', 'As of 2011, it rains.'),
  )
  def test_leaves_no_markup(self, text, expected):
    (document,) = self._read(
      f'<doc id="1" url="u" title="T">\nT\n\n{text}\n</doc>\n'
    )
    self.assertEqual(document[:4], ('T', expected, '1', False))

  def test_an_end_may_follow_the_text(self):
    text = '<doc id="1" url="u" title="T">\nA. </doc>\n</doc>\n\n'
    text += text.replace('1', '2')
    self.assertEqual([d.text for d in self._read(text)], ['A.', 'A.'])

  @parameterized.parameters(
    ('A.\n', ':1 must begin an article'),
    ('<doc id="1" url="u">\n', ':1 must begin an article'),
    ('<doc id="1" title="T">\nA.\n', ":2 must be </doc>.*'T'"),
  )
  def test_a_broken_file_is_one_line(self, text, message):
    with self.assertRaisesRegex(errors.UserError, message):
      self._read(text)

  @parameterized.parameters(
    '<doc id="1" title="T">\nHalf.\n',
    '<doc id="1" title="T">\nHalf.\n\udcff\n</doc>\n',
    '<doc id="1" title="\udcff">\nHalf.\n</doc>\n',
  )
  def test_a_broken_article_is_left_out_whole(self, broken):
    text = broken + '<doc id="2" title="U">\nWhole.\n</doc>\n'
    data = text.encode('utf-8', 'surrogateescape')
    (article,), left_out = self.skipping(self.file(data))
    self.assertEqual(article.text, 'Whole.')
    self.assertEqual(left_out, {counts_lib.UNREADABLE: 1})

  @parameterized.parameters(
    '<a href="x">',
    '<a href="',
    '<a href',
    '</a>',
    'formula_1 ',
    '\n',
    '&lt;',
    'Section::::\n',
    '<br>',
    '&amp;',
    '[[',
    '{{',
  )
  def test_time_is_linear(self, unit):
    linear_time.check(
      wikiextractor.clean, lambda n: sources.Article('T', unit * n, '1'), 1000
    )

  def test_links_become_words(self):
    raw = '<a href="Puerto%20Rico%23Law">the\nisland</a> and <a href="b">B</a>'
    for text in (raw, raw.replace('<', '&lt;').replace('>', '&gt;')):
      (article,) = self._read(
        f'<doc id="7" url="" title="A">\nA\n\nSee {text}.\n</doc>\n'
      )
      self.assertEqual(article.text, 'See the\nisland and B.')
      self.assertEqual(article.links, ('Puerto Rico', 'b'))

  def test_wikiextractors_json_is_cleaned_too(self):
    text = 'A\n\nSee <a href="b">B</a>.<br>It is formula_1.'
    record = {'id': '7', 'url': 'u', 'title': 'A', 'text': text}
    (article,) = self.articles(self.file(json.dumps(record)))
    self.assertEqual(article.text, 'See B.')
    self.assertEqual(article.links, ('b',))


if __name__ == '__main__':
  absltest.main()
