"""Tests for realm_tf.serving.panels."""

from absl.testing import absltest

from realm_tf.serving import panels


def _titles(groups):
  return {
    title: [panel.title for panel in group] for title, group in groups.items()
  }


class PanelsTest(absltest.TestCase):
  def test_shows_only_logged_metrics_in_order(self):
    groups = panels.arrange(
      ['p_null', 'loss', 'index_age_steps'], one_metric_each=False
    )
    self.assertEqual(
      _titles(groups),
      {
        'Learning': ['Loss'],
        'Retrieval': ['p(null|x)'],
        'Speed and index': ['Index age in steps'],
      },
    )

  def test_metrics_of_one_unit_share_a_panel(self):
    names = [
      'gradient_norm/query',
      'gradient_norm',
      'marginal_retrieval_utility',
      'gradient_norm/block',
      'block_retrieval_utility',
    ]
    groups = panels.arrange(names, one_metric_each=False)
    self.assertLen(groups['Retrieval'], 1)
    self.assertEqual(
      groups['Optimization'][0].metrics,
      {
        'gradient_norm': 'all variables',
        'gradient_norm/query': 'query',
        'gradient_norm/block': 'block',
      },
    )

  def test_each_metric_can_have_a_panel(self):
    names = ['gradient_norm/query', 'gradient_norm', 'loss']
    groups = panels.arrange(names, one_metric_each=True)
    self.assertEqual(
      _titles(groups),
      {
        'Learning': ['Loss'],
        'Optimization': [
          'Gradient norm: all variables',
          'Gradient norm: query',
        ],
      },
    )

  def test_all_logged_metrics_are_shown(self):
    names = ['loss', 'my_own', 'lossless', 'loss/a']
    groups = panels.arrange(names, one_metric_each=False)
    self.assertEqual(
      _titles(groups), {'Learning': ['Loss'], 'Other': ['my own', 'lossless']}
    )
    shown = [n for g in groups.values() for panel in g for n in panel.metrics]
    self.assertCountEqual(shown, names)


if __name__ == '__main__':
  absltest.main()
