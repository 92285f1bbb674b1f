"""Tests for the risk of realm_tf.serving.curves."""

import re

from absl.testing import absltest

from realm_tf.serving import curves


class ConfidenceTest(absltest.TestCase):
  def test_curves_of_risk_by_coverage(self):
    text = curves.risk(
      {'all': [(0.5, 0.0), (1.0, 0.25)], 'answerable': [(0.5, 0.0), (1.0, 0.1)]}
    )
    self.assertIn('in %: all 25.0; answerable 10.0', text)
    ends = {}
    for path in re.findall('<path [^>]*>', text):
      color = re.search(r'stroke: var\((--[\w-]+)', path)
      points = re.findall(r'[ML] (\S+) (\S+)', path)
      if color and len(points) == 2:
        ends.setdefault(color[1], []).append(
          [tuple(map(float, point)) for point in points]
        )
    # The first line of a color may be the legend's.
    (x0, y0), (x1, y1) = ends['--curve-0'][-1]
    (_, other0), (_, other1) = ends['--curve-1'][-1]
    self.assertLess(x0, x1)
    self.assertAlmostEqual((y0 - y1) / (other0 - other1), 25 / 10, places=4)

  def test_curves_without_a_right_answer_are_left_out(self):
    wrong = [(0.5, 1.0), (1.0, 1.0)]
    self.assertEqual(curves.risk({'missing': wrong, 'none': []}), '')
    text = curves.risk({'missing': wrong, 'all': [(0.5, 0), (1, 0.5)]})
    self.assertNotIn('missing', text)


if __name__ == '__main__':
  absltest.main()
