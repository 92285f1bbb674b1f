"""Tests for realm_tf.serving.curves and drawing."""

import re
from xml.etree import ElementTree

from absl.testing import absltest
import numpy as np

from realm_tf.run import metrics_log
from realm_tf.serving import curves

_PANEL = curves.Panel('Loss', '', 'nats', {})


def _draw(*values, every=1, panel=_PANEL):
  """Returns the picture of a curve for each of `values`."""
  metrics = {f'metric {i}': f'line {i}' for i in range(len(values))}
  series = {
    name: metrics_log.Series(
      np.arange(1, len(each) + 1) * every, np.array(each, np.float64)
    )
    for name, each in zip(metrics, values)
  }
  return curves.learned(panel._replace(metrics=metrics), {'run': series})


def _paths(text, i):
  """Returns the descriptions of the curves in color i, the legend's first."""
  return [
    path.get('d')
    for path in ElementTree.fromstring(text).iter('path')
    if 'fill: none' in path.get('style', '')
    and f'stroke: var(--curve-{i})' in path.get('style')
  ]


def _points(text, i):
  """Returns the points of the curve in color i, [N, 2], y downwards."""
  found = [re.findall(r'[-\d.]+', path) for path in _paths(text, i)]
  return np.array(max(found, key=len), np.float64).reshape([-1, 2])


class CurvesTest(absltest.TestCase):
  def test_a_curve_follows_its_values(self):
    x, y = _points(_draw([0.0, 3.0, 1.0], every=10), 0).T
    # Steps 10, 20 and 30 have equal distances; values are 0, 3 and 1.
    np.testing.assert_allclose(x[1] - x[0], x[2] - x[1], rtol=1e-5)
    np.testing.assert_allclose((y[0] - y[2]) / (y[0] - y[1]), 1 / 3, atol=1e-5)

  def test_has_a_legend_and_a_description(self):
    text = _draw([1, 2], [2, 0.5])
    for expected in ('>line 0 2<', '>line 1 0.5<', 'training step', '>nats<'):
      self.assertIn(expected, text)
    self.assertEqual(
      ElementTree.fromstring(text).get('aria-label'),
      'Loss by training step: line 0 2; line 1 0.5',
    )

  def test_curves_and_axes_take_the_colors_of_the_page(self):
    text = _draw(*[[1, 2]] * 9)
    used = set(re.findall(r'var\((--[\w-]+)\)', text))
    # A ninth curve has the color of the first.
    self.assertEqual(
      used, {'--text', '--muted', '--line', *(f'--curve-{i}' for i in range(8))}
    )
    self.assertNotRegex(text, '#[0-9a-f]{6}[;"]')

  def test_fits_into_a_page(self):
    text = _draw([1, 2])
    self.assertNotRegex(text, r'<style|<metadata|xmlns|xlink|http|DejaVu')
    ids = re.findall(r' id="([^"]*)"', text)
    self.assertLen(set(ids), len(ids))
    for name in re.findall(r'(?:href="|url\()#([^")]*)', text):
      self.assertIn(name, ids)

  def test_ids_are_unique_on_a_page(self):
    first, second = (
      set(
        re.findall(r' id="([^"]*)"', _draw([1], panel=_PANEL._replace(title=t)))
      )
      for t in ('Loss', 'Accuracy')
    )
    self.assertNotEmpty(first)
    self.assertEmpty(first & second)

  def test_the_same_input_gives_the_same_drawing(self):
    self.assertEqual(_draw([1, 2, 3]), _draw([1, 2, 3]))

  def test_values_that_are_not_finite_leave_a_gap(self):
    paths = _paths(_draw([1, 2, np.nan, 4, np.inf, 6, 7]), 0)
    # 1 2, 4, and 6 7.
    self.assertEqual(max(path.count('M') for path in paths), 3)
    _draw([np.nan])  # No finite value.

  def test_a_long_curve_shows_means_and_a_band(self):
    values = np.tile([0.0, 4.0], 2000)
    values[1234] = 100.0  # An outlier must stay visible.
    text = _draw(values)
    self.assertLessEqual(len(_points(text, 0)), 200)
    self.assertIn('opacity: 0.2', text)
    self.assertIn('>100<', text)  # On the axis.
    self.assertNotIn('opacity: 0.2', _draw(values[:200]))


if __name__ == '__main__':
  absltest.main()
