"""Tests that --help and users' mistakes wait for no heavy import."""

import json
import subprocess
import sys

from absl.testing import absltest

from tests import source_tree
from tests.bin import good_flags

_MISSING = {'source': 'hf:no/such', 'tagger': 'bert:no/such'}
_HEAVY = (
  'tensorflow tf_keras keras official scipy sklearn pandas pyarrow spacy'
  ' jinja2 matplotlib uvicorn'
).split()
# Calls binaries in a fork each; prints code, stderr and heavy modules of each.
_PROGRAM = """import io, json, os, sys
from bin import launcher
for binary, flags in json.load(sys.stdin):
  if not os.fork():
    out, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
    code = launcher.call(binary, flags)
    loaded = [name for name in HEAVY if name in sys.modules]
    print(json.dumps([code, sys.stderr.getvalue(), loaded]), file=out)
    out.flush()
    os._exit(0)
  os.wait()"""


def _cases():
  """Yields (binary, flags, its exit code, text of stderr)."""
  for binary, (good, inputs) in good_flags.ALL.items():
    flags = [
      f'--{name}' if '=' in name else f'--{name}=.' for name in good.split()
    ]
    yield binary, ['--help'], 1, ''
    yield binary, [*flags, '--no_such_flag'], 2, 'no_such_flag'
    yield binary, [*flags, '--set=model.no_such=1'], 2, 'model.no_such'
    for name in inputs.split():
      wrong = f'--{name}={_MISSING.get(name, "no/such")}'
      yield binary, [*flags, wrong], 2, f'--{name} must name files'
  for name in ('config=no/such.py', 'model_of=no/such'):
    yield binary, [*flags, f'--{name}'], 2, 'no/such'
  for binary in ('answer', 'calibrate', 'serve'):  # No --corpus_dir.
    yield binary, ['--model_dir=no/such'], 2, '--model_dir must name files'


class LightStartTest(absltest.TestCase):
  def test_no_heavy_module_is_loaded(self):
    self.assertCountEqual(good_flags.ALL, source_tree.binaries())
    cases = list(_cases())
    result = subprocess.run(
      [sys.executable, '-c', f'HEAVY = {_HEAVY}\n{_PROGRAM}'],
      cwd=source_tree.ROOT,
      input=json.dumps([case[:2] for case in cases]),
      capture_output=True,
      text=True,
      check=True,
    )
    lines = result.stdout.splitlines()
    for (binary, flags, expected, said), line in zip(cases, lines, strict=True):
      with self.subTest(f'{binary} {flags}'):
        code, stderr, loaded = json.loads(line)
        self.assertEqual(code, expected, stderr)
        self.assertIn(said, stderr)
        if code:
          self.assertRegex(stderr, r'\A(ERROR: [^\n]+\n)?\Z')
        self.assertEmpty(loaded)


if __name__ == '__main__':
  absltest.main()
