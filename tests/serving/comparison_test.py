"""Tests for realm_tf.serving.comparison."""

import re
from xml.etree import ElementTree

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.serving import comparison
from realm_tf.serving import run_reader


def _row(system, value, half=1.0, metric='exact_match'):
  interval = [value - half, value + half]
  return {'system': system, metric: value, 'interval': interval}


def _after(number, **values):
  return [_row(f'{n} after {number} questions', v) for n, v in values.items()]


def _segments(svg, color):
  """Yields both ends of each straight line in a color."""
  for path in svg.iter('path'):
    points = re.findall(r'[ML] (\S+) (\S+)', path.get('d'))
    if color in path.get('style', '') and len(points) == 2:
      yield [tuple(map(float, point)) for point in points]


_BY_NUMBER = run_reader.Results(
  'In other words',
  [
    _after(0, REALM=40.0, BM25=45.0),
    _after(1000, REALM=60.0, BM25=50.0),
    _after('all', REALM=80.0, BM25=55.0),
  ],
)


class ComparisonTest(absltest.TestCase):
  def test_tables_of_equal_systems_are_lines_by_number(self):
    [found] = comparison.read([_BY_NUMBER])
    self.assertEqual(found.title, 'In other words')
    self.assertEqual(found.metric, 'exact match')
    self.assertEqual(found.numbers, ['0', '1,000', 'all'])
    self.assertEqual(list(found.systems), ['REALM', 'BM25'])
    np.testing.assert_array_equal(
      found.systems['REALM'], [[40, 60, 80], [39, 59, 79], [41, 61, 81]]
    )
    self.assertEqual(found.best(), 'REALM')
    self.assertEqual(
      found.cells('BM25'),
      [('45.0 ±1.0', True), ('50.0 ±1.0', False), ('55.0 ±1.0', False)],
    )
    self.assertEqual(found.cells('other'), [('', False)] * 3)

  def test_other_tables_are_points(self):
    tables = [
      [_row('a', 90.0, metric='recall@5'), _row('b', 80.0, metric='recall@5')],
      [_row('a', 50.0), {'system': 'no interval', 'exact_match': 60.0}],
      [_row('a after 0 questions', 1.0), _row('b after 1 questions', 2.0)],
      [],
    ]
    first, second, third = comparison.read([run_reader.Results('x', tables)])
    self.assertEqual(first.metric, 'answer in 5 blocks')
    self.assertEqual(first.numbers, [''])
    self.assertEqual(list(first.systems), ['a', 'b'])
    self.assertEqual(list(second.systems), ['a'])
    self.assertLen(third.systems, 2)

  def test_a_picture_has_each_interval_and_a_description(self):
    other = run_reader.Results('y', [_after(0, ICT=9.0), _after(7, ICT=8.0)])
    text = comparison.picture(comparison.read([_BY_NUMBER, other]))
    svg = ElementTree.fromstring(text)
    self.assertIn('REALM 40.0, 60.0, 80.0; BM25', svg.get('aria-label'))
    for name in ('REALM', 'BM25', '1,000', 'all', 'training questions'):
      self.assertIn(f'>{name}<', text)
    # REALM's bars are 2 % long, the grid's lines 20 % apart.
    bars = [abs(y0 - y1) for (_, y0), (_, y1) in _segments(svg, '--curve-0')]
    grid = {y0 for (_, y0), (_, y1) in _segments(svg, '--line') if y0 == y1}
    first, second, *_ = sorted(grid)
    self.assertIn(round((second - first) / 10, 3), np.round(bars, 3))

  def test_a_picture_of_points_names_the_systems(self):
    results = run_reader.Results('x', [[_row('a <b>', 50.0), _row('c', 60.0)]])
    text = comparison.picture(comparison.read([results]))
    self.assertIn('>a &lt;b&gt;<', text)
    self.assertIn('>exact match, %<', text)

  def test_a_file_has_its_own_colors(self):
    text = comparison.picture_file([_BY_NUMBER])
    self.assertStartsWith(text, '<?xml')
    self.assertNotIn('var(', text)
    self.assertIn('#2563c9', text)
    with self.assertRaisesRegex(errors.UserError, '--picture needs --results'):
      comparison.picture_file([run_reader.Results('x', [[{'system': 'a'}]])])


if __name__ == '__main__':
  absltest.main()
