"""Tests for realm_tf.reporting.templates, and the page of inspect_data."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.reporting import templates

_HOSTILE = '</p><script>alert("x")</script>&amp;<img src=http://a.b>'


def _inspection(text):
  return templates.fill(
    'inspection.html',
    title=f'Corpus {text}',
    facts={f'name {text}': f'value {text}', 'blocks': 4},
    histograms={
      f'lengths {text}': (f'mean {text}', [('0-9', 1), ('10-19', 3)])
    },
    examples=[
      (f'Block 0 {text}', [('A ', False), (f'b c {text}', True), ('.', False)])
    ],
  )


class TemplatesTest(parameterized.TestCase):
  def test_no_text_becomes_markup(self):
    page = _inspection(_HOSTILE)
    self.assertNotIn('<script', page)
    self.assertNotIn('<img', page)
    escaped = _HOSTILE.replace('&', '&amp;').replace('<', '&lt;')
    escaped = escaped.replace('>', '&gt;').replace('"', '&#34;')
    # Title (twice), name, value, histogram (twice), heading and example.
    self.assertEqual(page.count(escaped), 8)

  def test_shows_facts_histograms_and_marked_spans(self):
    page = _inspection('!')
    self.assertIn('A <mark>b c !</mark>.', page)
    self.assertIn('<td>value !</td>', page)
    self.assertIn('<meter max="3" value="1"></meter></td>\n<td>1</td>', page)
    self.assertNotIn('http:', page)

  @parameterized.parameters(
    (0.123456, '0.1235'),
    (-2.5, '−2.5'),
    (12345.6, '12,346'),
    (12345, '12,345'),
    (1e-5, '1e−05'),
    (float('nan'), 'nan'),
    (True, True),
    ('-', '-'),
    ([48.5, 52.0], '48.5 to 52'),
  )
  def test_numbers_have_about_four_digits(self, value, expected):
    self.assertEqual(templates.number(value), expected)


if __name__ == '__main__':
  absltest.main()
