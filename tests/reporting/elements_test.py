"""Tests for realm_tf.reporting.elements."""

from absl.testing import absltest

from realm_tf.reporting import elements

element = elements.element


class ElementsTest(absltest.TestCase):
  def test_text_and_attributes_are_escaped(self):
    page = elements.to_html(
      element('p', '<script>', element('b', '&amp;'), '</p>', title='"><i>')
    )
    self.assertEqual(
      page,
      '<p title="&quot;&gt;<i&gt;">&lt;script&gt;<b>&amp;amp;</b>&lt;/p&gt;'
      '</p>',
    )

  def test_children_keep_their_order(self):
    node = element('p', 'a', 1, element('br'), 'b', 2.5, None, element('i'))
    self.assertIn('<p>a1<br>b2.5<i></i></p>', elements.to_html(node))

  def test_names_of_attributes(self):
    node = element('td', class_='wide', aria_label='x', id=None)
    self.assertEqual(node.attrib, {'class': 'wide', 'aria-label': 'x'})


if __name__ == '__main__':
  absltest.main()
