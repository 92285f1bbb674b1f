"""Tests that --help and users' mistakes wait for no heavy import."""

import json
import subprocess
import sys

from absl.testing import absltest

from tests import source_tree

# Binary -> good flags, and its flags of files that must exist. Flags that
# several binaries share are named once.
_BINARIES = {
  'answer': (
    'model_dir corpus_dir',
    'model_dir corpus_dir index_dir reader_dir',
  ),
  'average_models': ('model_dir before_dir output_dir', 'model_dir before_dir'),
  'build_index': ('model_dir corpus_dir output_dir', 'model_dir base'),
  'evaluate': (
    'model_dir corpus_dir questions output_dir',
    'questions queries_dir compare qrels',
  ),
  'export': ('model_dir format=hub output_dir', 'model_dir corpus_dir'),
  'finetune': (
    'corpus_dir questions run_dir',
    'dev_questions init_from reader_init_from',
  ),
  'import_checkpoint': ('source output_dir', 'source vocab_file blocks'),
  'inspect_data': ('corpus_dir', 'queries_dir model_dir'),
  'make_blocks': ('input output_dir', 'input vocab_file vocab_text'),
  'make_queries': ('input corpus_dir output_dir', 'tagger'),
  'make_world': ('output_dir', 'predictions'),
  'pretrain': ('corpus_dir queries_dir run_dir', 'queries_dir'),
  'refresh_index': ('run_dir corpus_dir', 'corpus_dir'),
  'report': ('run_dir', 'run_dir eval_dir results'),
  'results_table': ('run_dir rows', 'run_dir'),
  'serve': ('model_dir corpus_dir', 'token_file pretrained_dir'),
  'survey': ('input output_dir', 'questions'),
  'train_closed_book': ('corpus_dir queries_dir run_dir', 'queries_dir'),
  'train_path': ('corpus_dir questions init_from run_dir', 'init_from'),
  'train_tagger': ('train output_dir vocab_file', 'train dev vocab_file'),
  'warm_start': ('corpus_dir questions run_dir', 'negatives_from'),
}
_MISSING = {'source': 'hf:no/such', 'tagger': 'bert:no/such'}
_HEAVY = (
  'tensorflow tf_keras keras official scipy sklearn pandas pyarrow spacy'
  ' matplotlib uvicorn'
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
  for binary, (good, inputs) in _BINARIES.items():
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


class LightStartTest(absltest.TestCase):
  def test_no_heavy_module_is_loaded(self):
    self.assertCountEqual(_BINARIES, source_tree.binaries())
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
