"""Calls of binaries that write files, for the tests in a shared process."""

import json

import numpy as np

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


def calls(folder, vocab_file):
  """Returns name -> (binary, flags) of calls that write below `folder`."""
  return {
    **dict(_imports(folder, vocab_file)),
    **dict(_plans(folder)),
    **dict(_unpacks(folder)),
    **dict(_makes_blocks(folder, vocab_file)),
  }
