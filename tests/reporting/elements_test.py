"""Tests for realm_tf.reporting.elements."""

from absl.testing import absltest

from realm_tf.reporting import elements

element = elements.element


class ElementsTest(absltest.TestCase):
  def test_text_and_attributes_are_escaped(self):
    page = elements.to_page(
      element('p', '<script>', element('b', '&amp;'), '</p>', title='"><i>')
    )
    self.assertEqual(
      page,
      '<!doctype html>\n'
      '<p title="&quot;&gt;<i&gt;">&lt;script&gt;<b>&amp;amp;</b>&lt;/p&gt;'
      '</p>\n',
    )

  def test_children_keep_their_order(self):
    node = element('p', 'a', 1, element('br'), 'b', 2.5, None, element('i'))
    self.assertIn('<p>a1<br>b2.5<i></i></p>', elements.to_page(node))

  def test_names_of_attributes(self):
    node = element('td', class_='wide', aria_label='x', id=None)
    self.assertEqual(node.attrib, {'class': 'wide', 'aria-label': 'x'})

  def test_the_first_cell_of_a_row_is_its_heading(self):
    table = elements.table(['a', 'b'], [[1, 2], [element('td', 3), 4]])
    self.assertIn(
      '<tr><th scope="col">a</th><th scope="col">b</th></tr></thead><tbody>'
      '<tr><th scope="row">1</th><td>2</td></tr>'
      '<tr><td>3</td><td>4</td></tr></tbody>',
      elements.to_page(table),
    )


if __name__ == '__main__':
  absltest.main()
