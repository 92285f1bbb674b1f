"""Tests bin.plan_tpu's answer to a config that cannot fit."""

import json
import pathlib

from absl.testing import absltest

from tests import forked_binaries

# A message of the compiler.
_MESSAGE = (
  'RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the '
  'total memory required for HLO temporaries (32.50G) exceeds available HBM '
  '(15.75G). HLO module: main.\nSee https://openxla.org/xla/errors/error_1000 '
  'for more details.'
)


class PlanTpuTest(absltest.TestCase):
  def test_a_program_too_large_is_one_line_and_a_users_mistake(self):
    folder = pathlib.Path(self.create_tempdir().full_path)
    (folder / 'result.json').write_text(json.dumps({'error': _MESSAGE}))
    python = folder / 'python'
    python.write_text(
      '#!/bin/sh\n[ "$1" = -c ] && echo 0.1 && exit\n'
      f'cp {folder}/result.json "$6"\n'
    )
    python.chmod(0o755)
    output = folder / 'plan.json'
    (result,) = forked_binaries.run_all(
      [
        (
          'plan_tpu',
          [
            f'--compiler={python}',
            '--topology=v5e:2x2',
            '--programs=exact_search',
            '--num_blocks=1000',
            f'--output={output}',
          ],
        )
      ]
    )
    self.assertEqual(result.code, 2, result.stderr)
    line = (
      'exact_search must fit in the memory of a core of v5e:2x2. Found 34.9 '
      'GB, mostly temporaries, 18.0 GB above its 16.9. Try: '
      'index.searcher=scann; a slice with more cores.'
    )
    self.assertIn(line, result.stdout.splitlines())
    (row,) = json.loads(output.read_text())
    self.assertEqual(row['problem'], line)


if __name__ == '__main__':
  absltest.main()
