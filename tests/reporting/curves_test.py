"""Tests for realm_tf.reporting.curves."""

import re
from xml.etree import ElementTree

from absl.testing import absltest
import numpy as np

from realm_tf.reporting import curves
from realm_tf.reporting import elements
from realm_tf.rundir import metrics_log

_AXES = curves.Axes('Loss', 'nats', 40, from_zero=True)


def _series(values, every=1):
  steps = np.arange(1, len(values) + 1) * every
  return metrics_log.Series(steps, np.array(values, np.float64))


def _points(svg, i):
  """Returns the points of the curve in color i, [N, 2], y downwards."""
  for path in svg.iter('path'):
    style = path.get('style', '')
    if 'fill: none' in style and f'--curve-{i}' in style:
      numbers = re.findall(r'[-\d.]+', path.get('d'))
      return np.array(numbers, np.float64).reshape([-1, 2])
  raise ValueError(f'No curve {i}.')


class CurvesTest(absltest.TestCase):
  def test_a_curve_follows_its_values(self):
    svg = curves.draw({0: _series([0.0, 3.0, 1.0], every=10)}, _AXES)
    x, y = _points(svg, 0).T
    # Steps 10, 20 and 30 have equal distances; values are 0, 3 and 1.
    np.testing.assert_allclose(x[1] - x[0], x[2] - x[1])
    np.testing.assert_allclose((y[0] - y[2]) / (y[0] - y[1]), 1 / 3, atol=1e-5)

  def test_curves_and_axes_take_the_colors_of_the_page(self):
    svg = curves.draw({1: _series([1, 2]), 7: _series([2, 1])}, _AXES)
    text = elements.to_page(svg)
    used = set(re.findall(r'var\((--[\w-]+)\)', text))
    self.assertEqual(used, {'--curve-1', '--curve-7', '--muted', '--line'})
    self.assertNotRegex(text, '#0000f|#00ff0')
    # A ninth curve has the color of the first.
    self.assertIn('--curve-0', elements.to_page(curves.swatch(8)))

  def test_fits_into_a_page(self):
    text = elements.to_page(curves.draw({0: _series([1, 2])}, _AXES))
    self.assertNotRegex(text, r'<style|<metadata|xmlns|xlink|http|id="axes')
    self.assertNotIn('font-family', text)
    ids = re.findall(r' id="([^"]*)"', text)
    self.assertLen(set(ids), len(ids))
    for name in re.findall(r'(?:href="|url\()#([^")]*)', text):
      self.assertIn(name, ids)
    self.assertIn('training step', text)
    self.assertIn('nats', text)

  def test_ids_are_unique_on_a_page(self):
    ids = [
      set(
        re.findall(
          r' id="([^"]*)"',
          elements.to_page(
            curves.draw({0: _series([1, 2])}, _AXES._replace(name=name))
          ),
        )
      )
      for name in ('Loss', 'Accuracy')
    ]
    self.assertNotEmpty(ids[0])
    self.assertEmpty(ids[0] & ids[1])

  def test_the_same_input_gives_the_same_drawing(self):
    first, second = (
      ElementTree.tostring(curves.draw({0: _series([1, 2, 3])}, _AXES))
      for _ in range(2)
    )
    self.assertEqual(first, second)

  def test_values_that_are_not_finite_leave_a_gap(self):
    svg = curves.draw({0: _series([1, 2, np.nan, 4, np.inf, 6, 7])}, _AXES)
    [path] = [
      p.get('d')
      for p in svg.iter('path')
      if 'stroke: var(--curve-0)' in p.get('style', '')
      and 'fill: none' in p.get('style')
    ]
    self.assertEqual(path.count('M'), 3)  # 1 2, 4, and 6 7.
    curves.draw({0: _series([np.nan])}, _AXES)  # No finite value.

  def test_a_long_curve_shows_means_and_a_band(self):
    values = np.tile([0.0, 4.0], 2000)
    values[1234] = 100.0  # An outlier must stay visible.
    axes = _AXES._replace(last_step=len(values))
    svg = curves.draw({0: _series(values)}, axes)
    self.assertLessEqual(len(_points(svg, 0)), 200)
    text = elements.to_page(svg)
    self.assertIn('opacity: 0.2', text)
    self.assertIn('>100<', text)  # On the axis.
    short = elements.to_page(curves.draw({0: _series(values[:200])}, axes))
    self.assertNotIn('opacity: 0.2', short)

  def test_outliers_make_the_axis_logarithmic(self):
    # The median is 1. 30 is above 20 medians, 15 is not.
    for last, label in ((30.0, 'nats, logarithmic'), (15.0, 'nats')):
      text = elements.to_page(
        curves.draw(
          {0: _series([1.0, 1.0, last])}, _AXES._replace(may_be_log=True)
        )
      )
      self.assertIn(f'>{label}<', text)
    # 0 has no logarithm.
    text = elements.to_page(
      curves.draw({0: _series([0, 1, 99])}, _AXES._replace(may_be_log=True))
    )
    self.assertNotIn('logarithmic', text)


if __name__ == '__main__':
  absltest.main()
