"""Tests for realm_tf.serving.pictures."""

import re
from xml.etree import ElementTree

from absl.testing import absltest
import numpy as np

from realm_tf.serving import pictures
from realm_tf.serving import run_reader

_PANEL = pictures.Panel('Loss', '', 'nats', {})
_BLUE, _ORANGE = '#2563c9', '#d4571c'
_SVG = '{http://www.w3.org/2000/svg}'


def _draw(*values, every=1):
  """Returns the picture of a curve for each of `values`."""
  metrics = {f'metric {i}': f'line {i}' for i in range(len(values))}
  rows = [
    {'step': i * every, **dict(zip(metrics, row))}
    for i, row in enumerate(zip(*values), 1)
  ]
  [drawn] = pictures.learned(_PANEL._replace(metrics=metrics), {'run': rows})
  return drawn


def _lines(picture, color):
  """Returns the curves of a color, each with its points [N, 2], y downwards."""
  return [
    np.array(
      re.findall(r'[ML] (\S+) (\S+)', path.get('d')), np.float64
    ).reshape([-1, 2])
    for path in ElementTree.fromstring(picture.svg).iter(f'{_SVG}path')
    if 'fill: none' in path.get('style', '')
    and f'stroke: {color}' in path.get('style')
  ]


class CurvesTest(absltest.TestCase):
  def test_a_curve_follows_its_values(self):
    x, y = max(_lines(_draw([0.0, 3.0, 1.0], every=10), _BLUE), key=len).T
    # Steps 10, 20 and 30 have equal distances; values are 0, 3 and 1.
    np.testing.assert_allclose(x[1] - x[0], x[2] - x[1], rtol=1e-5)
    np.testing.assert_allclose((y[0] - y[2]) / (y[0] - y[1]), 1 / 3, atol=1e-5)

  def test_has_a_legend_and_a_description(self):
    drawn = _draw([1, 2], [2, 0.5])
    text = drawn.svg.decode()
    about = 'Loss by training step: line 0 2; line 1 0.5'
    self.assertEqual(drawn.about, about)
    self.assertIn(f'<title>{about}</title>', text)
    for expected in ('>line 0 2<', '>line 1 0.5<', 'training step', '>nats<'):
      self.assertIn(expected, text)
    self.assertNotIn('DejaVu', text)
    self.assertStartsWith(drawn.url, 'data:image/svg+xml;base64,')

  def test_values_that_are_not_finite_leave_a_gap(self):
    drawn = _draw([1, 2, np.nan, 4, np.inf, 6, 7])
    # 1 2, 4, and 6 7.
    self.assertIn(3, [path.count(b'M ') for path in drawn.svg.split(b'<path')])
    _draw([np.nan])  # No finite value.


class RiskTest(absltest.TestCase):
  def test_curves_of_risk_by_coverage(self):
    [drawn] = pictures.risk(
      {'all': [(0.5, 0.0), (1.0, 0.25)], 'answerable': [(0.5, 0.0), (1.0, 0.1)]}
    )
    self.assertIn('in %: all 25.0; answerable 10.0', drawn.about)
    # The first line of a color may be the legend's.
    (x0, y0), (x1, y1) = _lines(drawn, _BLUE)[0]
    (_, other0), (_, other1) = _lines(drawn, _ORANGE)[0]
    self.assertLess(x0, x1)
    self.assertAlmostEqual((y0 - y1) / (other0 - other1), 25 / 10, places=4)

  def test_curves_without_a_right_answer_are_left_out(self):
    wrong = [(0.5, 1.0), (1.0, 1.0)]
    self.assertEqual(pictures.risk({'missing': wrong, 'none': []}), [])
    [drawn] = pictures.risk({'missing': wrong, 'all': [(0.5, 0), (1, 0.5)]})
    self.assertNotIn('missing', drawn.about)


class ComparedTest(absltest.TestCase):
  def test_a_picture_has_each_interval_and_a_description(self):
    realm = np.array([[40, 60, 80], [39, 59, 79], [41, 61, 81]])
    drawn = pictures.compared(
      [
        run_reader.Comparison(
          'In other words',
          'exact match',
          ['0', '1,000', 'all'],
          {'REALM': realm, 'a <b>': realm - 10},
        ),
        run_reader.Comparison('y', 'exact match', [''], {'ICT': realm[:, :1]}),
      ]
    )
    self.assertIn('REALM 40.0, 60.0, 80.0; a <b> 30.0', drawn.about)
    text = drawn.svg.decode()
    for name in ('REALM', 'a &lt;b&gt;', '1,000', 'all', 'training questions'):
      self.assertIn(f'>{name}<', text)
    # REALM's bars are 2 % long, the grid's lines 20 % apart.
    bars = [
      abs(line[0, 1] - line[-1, 1])
      for line in _lines(drawn, _BLUE)
      if len(line) == 2
    ]
    grid = {line[0, 1] for line in _lines(drawn, '#dfe3e9') if len(line) == 2}
    first, second, *_ = sorted(grid)
    self.assertIn(round((second - first) / 10, 3), np.round(bars, 3))


if __name__ == '__main__':
  absltest.main()
