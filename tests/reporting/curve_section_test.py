"""Tests for realm_tf.reporting.curve_section."""

from absl.testing import absltest

from realm_tf.reporting import curve_section
from realm_tf.reporting import run_reader
from tests.reporting import small_run


def _legend(figure):
  return [
    (''.join(item.itertext()), item.find('span').get('style'))
    for item in figure.iter('li')
  ]


class CurveSectionTest(absltest.TestCase):
  def _runs(self, **rows):
    folder = self.create_tempdir().full_path
    return run_reader.read(
      [small_run.write(f'{folder}/{name}', r) for name, r in rows.items()]
    )

  def test_metrics_of_one_run_share_a_panel(self):
    rows = [{'step': 1, 'index_age_steps': 2, 'index_age_steps_max': 3}]
    [section] = curve_section.build(self._runs(a=rows))
    self.assertEqual(section.get('id'), 'speed-and-index')
    self.assertEqual(section.find('h2').text, 'Speed and index')
    [figure] = section.iter('figure')
    self.assertEqual(
      _legend(figure),
      [
        ('mean 2', '--color: var(--curve-0)'),
        ('highest 3', '--color: var(--curve-1)'),
      ],
    )
    self.assertLen(list(figure.iter('svg')), 1)

  def test_each_of_several_runs_has_one_color(self):
    runs = self._runs(
      a=[{'step': 1, 'loss': 2.5, 'p_null': 0.25}],
      b=[{'step': 1, 'loss': 3.5, 'entropy': 0.5}],
    )
    figures = {
      figure.find('figcaption/h3').text: _legend(figure)
      for section in curve_section.build(runs)
      for figure in section.iter('figure')
    }
    first, second = '--color: var(--curve-0)', '--color: var(--curve-1)'
    self.assertEqual(
      figures,
      {
        'Loss': [('a 2.5', first), ('b 3.5', second)],
        'p(null|x)': [('a 0.25', first)],
        'Entropy of p(z|x)': [('b 0.5', second)],
      },
    )


if __name__ == '__main__':
  absltest.main()
