"""Tests that --help and users' mistakes wait for no heavy import."""

import json
import subprocess
import sys

from absl.testing import absltest

from tests import source_tree
from tests.bin import good_flags

_CONFIG = 'launch/orqa_faithful.py'
_MISSING = {'source': 'hf:no/such', 'tagger': 'bert:no/such'}
_HEAVY = (
  'tensorflow tf_keras keras official scipy sklearn pandas pyarrow spacy'
  ' jinja2 matplotlib granian'
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


def _flags(names):
  return [f'--{n}' if '=' in n else f'--{n}=.' for n in names.split()]


def _cases():
  """Yields (binary, flags, its exit code, text of stderr)."""
  for binary, (good, inputs) in good_flags.ALL.items():
    flags = _flags(good)
    yield binary, ['--help'], 0, ''
    yield binary, [*flags, '--no_such_flag'], 2, 'no_such_flag'
    yield binary, [*flags, '--set=model.no_such=1'], 2, 'model.no_such'
    for name in inputs.split():
      wrong = f'--{name}={_MISSING.get(name, "no/such")}'
      yield binary, [*flags, wrong], 2, f'--{name} must name files'
  for name in ('config=no/such.py', 'model_of=no/such'):
    yield binary, [*flags, f'--{name}'], 2, 'no/such'
  for binary in ('report', 'results_table'):
    flags = [*_flags(good_flags.ALL[binary][0]), '--output=/dev/null/x']
    yield binary, flags, 2, '/dev/null/x must be writable'
  yield from _unread_config_cases()
  for binary in ('answer', 'calibrate', 'serve'):  # No --corpus_dir.
    yield binary, ['--model_dir=no/such'], 2, '--model_dir must name files'


def _unread_config_cases():
  """Yields cases of flags of the config that would change nothing."""
  sets, launch_file = '--set=lengths.query_tokens=128', f'--config={_CONFIG}'
  words = ['--queries_dir=.', '--retriever=bm25', '--model_dir=']
  for binary, flags, said in (
    ('answer', [sets], 'reads, none; a model has its own config'),
    ('answer', [launch_file], 'reads none of it. Leave the flag out'),
    ('report', [launch_file], f'Found {launch_file}'),
    ('build_index', [launch_file], 'Leave the flag out'),
    ('build_index', [sets], 'reads, index. or lengths.cut_blocks=;'),
    ('unpack_demo', [sets], 'reads, none;'),
    ('evaluate', [sets], 'reads, none; a model has its own config'),
    ('evaluate', [launch_file], 'reads none of it'),
    ('evaluate', ['--queries_dir=.', sets], 'reads, pretraining.masking=; a'),
    ('evaluate', [*words, '--set=index.searcher=milvus'], 'lengths.; a model'),
  ):
    yield binary, [*_flags(good_flags.ALL[binary][0]), *flags], 2, said


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
