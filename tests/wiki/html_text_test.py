"""Tests for realm_tf.wiki.html_text."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.wiki import html_text


class HtmlTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ('A<br>b<BR />c', 'A\nb\nc'),
    ('<b>a</b> <span style="x">b</span>', 'a b'),
    ('5 km<sup>2</sup>, 10<sup>&minus;6</sup>', '5 km², 10⁻⁶'),
    ('18<sup>th</sup>, x<sup>n</sup>, x<sup>a+1</sup>', '18th, x^n, x^(a+1)'),
    ('H<sub>2</sub>O', 'H2O'),
    ('a<b, a <b and c> d, vector<int>', 'a<b, a <b and c> d, vector<int>'),
    ('<section end="x" /><poem style="a:b">c</poem>', '\nc\n'),
    ('</dl>\n</div>', '\n\n\n'),
  )
  def test_tags_become_words(self, text, expected):
    self.assertEqual(html_text.strip_tags(text), expected)

  @parameterized.parameters(
    ('A &amp; B', 'A & B'),
    ('A&amp;nbsp;B &amp;ndash; &#33;&#x41;', 'A\xa0B – !A'),
    ('a & b &c d; &unknown;', 'a & b &c d; &unknown;'),
    ('&#' + '9' * 5000 + ';', '&#' + '9' * 5000 + ';'),
  )
  def test_references_become_characters(self, text, expected):
    self.assertEqual(html_text.unescape(text), expected)


if __name__ == '__main__':
  absltest.main()
