"""Tests for realm_tf.reporting.config_section."""

from absl.testing import absltest

from realm_tf.reporting import config_section
from realm_tf.reporting import elements
from realm_tf.reporting import run_reader
from tests.reporting import small_run
from tests.reporting import tables

_DEFAULTS = {'seed': 0, 'a.rate': 1e-5, 'a.name': 'x', 'a.on': True}


class ConfigSectionTest(absltest.TestCase):
  def _build(self, *configs):
    folder = self.create_tempdir().full_path
    runs = run_reader.read(
      [
        small_run.write(f'{folder}/{"ab"[i]}', config=config)
        for i, config in enumerate(configs)
      ]
    )
    changed, folded = config_section.build(runs, _DEFAULTS)
    self.assertEqual(folded.tag, 'details')
    return changed, folded

  def test_changed_fields_come_first_and_others_are_folded(self):
    changed, folded = self._build(
      {
        'new': None,
        'seed': 12345,
        'a': {'rate': 1e-5, 'name': 'x', 'on': False},
      }
    )
    self.assertEqual(
      tables.cells(changed),
      [
        ['field', 'a', 'default'],
        ['seed', '12345', '0'],
        ['a.on', 'false', 'true'],
        ['new', 'none', '–'],  # A field of another version.
      ],
    )
    self.assertEqual(
      folded.find('summary').text, '2 fields with their defaults'
    )
    self.assertEqual(
      tables.cells(folded)[1:],
      [['a.rate', '1e-05', '1e-05'], ['a.name', 'x', 'x']],
    )

  def test_differences_between_runs_are_marked(self):
    changed, _ = self._build(
      {'seed': 1, 'a': {'name': 'y'}}, {'seed': 1, 'a': {'name': 'x'}}
    )
    self.assertEqual(
      tables.cells(changed)[1:],
      [['seed', '1', '1', '0'], ['a.name', 'y', 'x', 'x']],
    )
    self.assertEqual([mark.text for mark in changed.iter('mark')], ['y', 'x'])

  def test_a_config_without_changes(self):
    changed, _ = self._build({'seed': 0})
    self.assertIn('defaults', elements.to_page(changed))


if __name__ == '__main__':
  absltest.main()
