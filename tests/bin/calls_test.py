"""Tests of calls of binaries that share a process."""

import json
import os
import pathlib
import tempfile

from absl.testing import absltest
import numpy as np

from tests import forked_binaries
from tests import tiny
from tests.exchange import tf1_release

# A message of the compiler.
_MESSAGE = (
  'RESOURCE_EXHAUSTED: E1000: CompileTimeHbmOom: Ran out of memory on HBM, the '
  'total memory required for HLO temporaries (32.50G) exceeds available HBM '
  '(15.75G). HLO module: main.\nSee https://openxla.org/xla/errors/error_1000 '
  'for more details.'
)


def _write(path, text):
  path.write_text(text)
  return path


def _imports(folder, vocab_file):
  """Yields name -> the call of an import, and of the export of its model."""
  rng = np.random.default_rng(0)
  path = lambda name: str(folder / name)
  embedder = tf1_release.save(path('model'), tf1_release.embedder(rng))
  rows = rng.normal(size=[3, 4]).astype(np.float32)
  index = tf1_release.save(path('encoded'), {'block_emb': rows})
  texts = ['A b. C d.', 'E f.', 'a']
  blocks = tf1_release.write_blocks(path('blocks.tfr'), texts)
  flags = [f'--source=tf1:{embedder},{index}', f'--blocks={blocks}']
  flags += [f'--vocab_file={vocab_file}', '--num_workers=1']
  flags += [f'--num_heads={tf1_release.NUM_HEADS}']
  model = folder / 'imported'
  yield 'import', ('import_checkpoint', [*flags, f'--output_dir={model}'])
  flags = ['--format=hugging_face', f'--model_dir={model}', '--tower=block']
  yield 'export', ('export', [*flags, f'--output_dir={folder}/exported'])


def _plans(folder):
  """Yields the call of a plan with a compiler that finds no memory."""
  result = _write(folder / 'result.json', json.dumps({'error': _MESSAGE}))
  python = _write(
    folder / 'python',
    f'#!/bin/sh\n[ "$1" = -c ] && echo 0.1 && exit\ncp {result} "$6"\n',
  )
  python.chmod(0o755)
  flags = [f'--compiler={python}', f'--output={folder}/plan.json']
  flags += ['--topology=v5e:2x2', '--programs=retrieval']
  yield 'plan', ('plan_tpu', [*flags, '--num_blocks=1000'])


def _unpacks(folder):
  """Yields calls that write the demo's texts, unchanged and changed."""
  right = {'id': 'country/AM/languages', 'exact_match': 1}
  predictions = _write(folder / 'predictions.jsonl', json.dumps(right) + '\n')
  flags = [f'--output_dir={folder}/new/texts']
  yield 'texts', ('unpack_demo', flags)
  flags = [f'--output_dir={folder}/new/changed', f'--predictions={predictions}']
  yield 'changed', ('unpack_demo', flags)


def _makes_blocks(folder, vocab_file):
  """Yields calls that write a corpus, and that fail to write it again."""
  good = _write(folder / 'a.jsonl', '{"title": "A", "text": "A b. B."}\n')
  bad = _write(folder / 'broken.jsonl', '{"title": "A", "text"\n')
  flags = [f'--vocab_file={vocab_file}', f'--output_dir={folder}/corpus']
  yield 'blocks', ('make_blocks', [f'--input={good}', *flags])
  yield 'broken', ('make_blocks', [f'--input={bad}', *flags, '--overwrite'])


class CallsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.folder = folder = pathlib.Path(directory)
    pieces = '\n'.join(tiny.TOKENIZER.vocabulary) + '\n'
    vocab_file = _write(folder / 'vocab.txt', pieces)
    calls = {
      **dict(_imports(folder, vocab_file)),
      **dict(_plans(folder)),
      **dict(_unpacks(folder)),
      **dict(_makes_blocks(folder, vocab_file)),
    }
    results = forked_binaries.run_all(list(calls.values()))
    cls.results = dict(zip(calls, results, strict=True))

  def test_imports_and_exports(self):
    imported, exported = self.results['import'], self.results['export']
    self.assertEqual(imported.code, 0, imported)
    self.assertIn('left over: 0', imported.stdout)
    index = f'{self.folder}/imported/index/000000000'
    self.assertIn(f'Wrote {index}.', imported.stdout)
    self.assertEqual(exported.code, 0, exported)
    self.assertIn('shared_embedder/projection/kernel', exported.stdout)
    files = 'config.json model.safetensors special_tokens_map.json'
    files += ' tokenizer.json tokenizer_config.json vocab.txt'
    found = os.listdir(self.folder / 'exported')
    self.assertCountEqual(found, files.split())

  def test_a_plan_of_too_large_a_program_is_one_line_and_a_users_mistake(self):
    result = self.results['plan']
    self.assertEqual(result.code, 2, result.stderr)
    line = (
      'retrieval must fit in the memory of a core of v5e:2x2. Found 34.9 '
      'GB, mostly temporaries, 18.0 GB above its 16.9. Try: '
      'index.storage_dtype=bfloat16; index.searcher=scann; a slice with more '
      'cores.'
    )
    self.assertIn(line, result.stdout.splitlines())
    (row,) = json.loads((self.folder / 'plan.json').read_text())
    self.assertEqual(row['problem'], line)

  def test_unpacking_writes_a_new_directory(self):
    for name in ('texts', 'changed'):
      result = self.results[name]
      self.assertEqual(result.code, 0, result.stderr)
    before, after = (
      tiny.read_rows(self.folder / 'new' / name / 'articles.jsonl')
      for name in ('texts', 'changed')
    )
    differ = [a != b for a, b in zip(before, after, strict=True)]
    self.assertEqual(sum(differ), 1)
    fact = json.loads((self.folder / 'new/changed/changed.json').read_text())
    self.assertEqual(fact['old_answer'], 'Armenian')
    self.assertEqual(fact['new_answer'], 'French')

  def test_writes_a_corpus_or_reports_a_broken_line(self):
    good, bad = self.results['blocks'], self.results['broken']
    self.assertEqual((good.code, good.stderr), (0, ''))
    self.assertEqual(bad.code, 2)
    broken = self.folder / 'broken.jsonl'
    self.assertRegex(bad.stderr, rf'^ERROR: {broken}:1 must be .*\n$')
    # The old corpus is unchanged.
    manifest = json.loads((self.folder / 'corpus/manifest.json').read_text())
    self.assertEqual(manifest['num_blocks'], 1)


if __name__ == '__main__':
  absltest.main()
