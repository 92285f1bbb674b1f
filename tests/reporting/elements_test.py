"""Tests for realm_tf.reporting.elements."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.reporting import elements

element = elements.element


class ElementsTest(parameterized.TestCase):
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

  @parameterized.parameters(
    (200000, '200,000'),
    (True, 'True'),
    ('per_query', 'per_query'),
    (2.28368, '2.284'),
    (0.0001, '0.0001'),
    (3e-5, '3e−05'),
    (-12.3456, '−12.35'),
    (54321.9, '54,322'),
    (float('nan'), 'nan'),
    (-float('inf'), '−inf'),
  )
  def test_number(self, value, expected):
    self.assertEqual(elements.number(value), expected)


if __name__ == '__main__':
  absltest.main()
