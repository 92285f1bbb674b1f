"""Tests that docs/contract.md names the flags that the binaries have."""

import re

from absl.testing import absltest

from tests import forks
from tests import source_tree

_FLAG = re.compile(r'--(?:no)?(\w+)')
_HELP = re.compile(r'^  --(?:\[no\])?(\w+)', re.MULTILINE)
_OF_ALL = 'all that have a config'


def _documented():
  """Returns each binary's flags, and the row of each binary."""
  text = (source_tree.ROOT / 'docs/contract.md').read_text()
  section = text.split('\n## Binaries\n')[1].split('\n- **')[0]
  rows = {}
  for row in section.splitlines():
    if row.startswith('| '):
      name, *_, given = row.strip('| ').split(' | ')
      if '--' in given:
        rows[name.strip('`')] = given

  def flags(name):
    groups = re.findall(r'\w+ flags', rows[name])
    return set(_FLAG.findall(rows[name])).union(*map(flags, groups))

  return {
    name: flags(name) | flags(_OF_ALL)
    for name in rows
    if not name.endswith('flags') and name != _OF_ALL
  }


class ContractFlagsTest(absltest.TestCase):
  def test_each_binary_has_the_flags_of_the_contract_and_no_others(self):
    documented = _documented()
    self.assertCountEqual(documented, source_tree.binaries())
    results = forks.run_all([(each, ['--help']) for each in documented])
    for (name, flags), result in zip(documented.items(), results, strict=True):
      with self.subTest(name):
        self.assertEqual(result.code, 0, result.stderr)
        self.assertCountEqual(
          flags - {'flagfile'}, _HELP.findall(result.stdout)
        )


if __name__ == '__main__':
  absltest.main()
