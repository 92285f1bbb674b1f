"""Tests for realm_tf.reporting.inspection_page."""

from absl.testing import absltest

from realm_tf.reporting import inspection_page

_HOSTILE = '</p><script>alert("x")</script>&amp;<img src=http://a.b>'


class InspectionPageTest(absltest.TestCase):
  def _page(self, text):
    return inspection_page.build(
      f'Corpus {text}',
      {f'name {text}': f'value {text}', 'blocks': 4},
      {f'lengths {text}': (f'mean {text}', [('0-9', 1), ('10-19', 3)])},
      [
        (
          f'Block 0 {text}',
          [('A ', False), (f'b c {text}', True), ('.', False)],
        )
      ],
    )

  def test_no_text_becomes_markup(self):
    page = self._page(_HOSTILE)
    self.assertNotIn('<script', page)
    self.assertNotIn('<img', page)
    escaped = _HOSTILE.replace('&', '&amp;').replace('<', '&lt;')
    escaped = escaped.replace('>', '&gt;')
    # Title (twice), name, value, histogram (twice), heading and example.
    self.assertEqual(page.count(escaped), 8)

  def test_shows_facts_histograms_and_marked_spans(self):
    page = self._page('!')
    self.assertIn('A <mark>b c !</mark>.', page)
    self.assertIn('<td>value !</td>', page)
    self.assertIn('<meter max="3" value="1"></meter></td><td>1</td>', page)
    self.assertNotIn('http:', page)


if __name__ == '__main__':
  absltest.main()
