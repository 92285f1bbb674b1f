"""Tests that bin.import_checkpoint and bin.export say what is wrong."""

import os

from absl.testing import absltest
import numpy as np

from tests import forked_binaries
from tests import tiny
from tests.importing import tf1_release

_TEXTS = ['A b. C d.', 'E f.', 'a']
_HOSTILE = (
  b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, "
  b"'shape': (3,), }"
).ljust(127) + b'\n\x80\x04\x8c\x02os\x8c\x06system\x93\x8c%c%s\x85R.'


class _Files:
  """A released model with its index, and damaged copies of its parts."""

  def __init__(self, directory):
    self.directory = directory
    rng = np.random.default_rng(0)
    self.embedder = self._save('embedder/model', tf1_release.embedder(rng))
    self.index = self._save(
      'encoded', {'block_emb': rng.normal(size=[3, 4]).astype(np.float32)}
    )
    self.nothing = self._save('nothing', {'x': np.zeros(2, np.float32)})
    part = tf1_release.embedder(rng)
    del part['module/module/module/bert/embeddings/position_embeddings']
    self.part = self._save('part', part)
    self.cut = self._save('cut', tf1_release.embedder(rng))
    with open(self.cut + '.data-00000-of-00001', 'r+b') as file:
      file.truncate(500)
    self.blocks = tf1_release.write_blocks(self.path('blocks.tfr'), _TEXTS)
    self.few = tf1_release.write_blocks(self.path('few.tfr'), _TEXTS[1:])
    self.vocabulary = self.path('vocab.txt')
    self.longer = self.path('longer.txt')
    for path, more in ((self.vocabulary, ()), (self.longer, ('x', 'y'))):
      with open(path, 'w') as file:
        file.writelines(f'{p}\n' for p in (*tiny.TOKENIZER.vocabulary, *more))
    self.reached = self.path('reached')
    self.hostile = self.path('block_records.npy')
    with open(self.hostile, 'wb') as file:
      command = f'touch {self.reached}'.encode()
      file.write(_HOSTILE % (len(command), command))

  def path(self, name):
    return os.path.join(self.directory, name)

  def _save(self, name, values):
    return tf1_release.save(self.path(name), values)

  def flags(self, number, **changes):
    """Returns flags that are right but for `changes`."""
    flags = {
      'source': f'tf1:{self.embedder},{self.index}',
      'vocab_file': self.vocabulary,
      'blocks': self.blocks,
      'num_heads': tf1_release.NUM_HEADS,
      'num_workers': 1,
      'output_dir': self.path(f'out-{number}'),
    }
    return [f'--{name}={value}' for name, value in {**flags, **changes}.items()]


def _cases(files):
  """Yields (changed flags, what the line must say)."""
  yield {'source': f'tf1:{files.embedder}x'}, f'{files.embedder}x.index'
  yield {'source': f'tf1:{files.nothing}'}, 'must hold a BERT encoder'
  yield {'source': f'tf1:{files.part}'}, 'a whole BERT encoder'
  yield {'source': f'tf1:{files.cut}'}, 'must be a whole checkpoint'
  yield {'source': 'tf1:'}, 'hf:DIR or tf1:PREFIX'
  yield {'vocab_file': files.longer}, '12 word embeddings and 14 lines'
  yield {'vocab_file': files.reached}, files.reached
  yield {'blocks': files.few}, '3 rows and 2 blocks'
  yield {'blocks': files.hostile}, 'the name os'
  yield {'blocks': files.reached}, files.reached
  yield {'num_heads': 4}, 'heads'


class ImportCheckpointTest(absltest.TestCase):
  def test_mistakes_end_in_one_line_and_nothing_runs(self):
    files = _Files(self.create_tempdir().full_path)
    cases = list(_cases(files))
    results = forked_binaries.run_all(
      [
        ('import_checkpoint', files.flags(i, **changes))
        for i, (changes, _) in enumerate(cases)
      ]
    )
    for (changes, said), result in zip(cases, results, strict=True):
      with self.subTest(str(changes)):
        self.assertEqual(result.code, 2, result)
        self.assertRegex(result.stderr, r'\AERROR: [^\n]+\n\Z')
        self.assertIn(said, result.stderr)
    self.assertFalse(os.path.exists(files.reached))

  def test_imports_and_exports(self):
    files = _Files(self.create_tempdir().full_path)
    model_dir, exported = files.path('out-0'), files.path('exported')
    imported, export = forked_binaries.run_all(
      [
        ('import_checkpoint', files.flags(0)),
        (
          'export',
          [
            '--format=hugging_face',
            f'--model_dir={model_dir}',
            '--tower=block',
            f'--output_dir={exported}',
          ],
        ),
      ]
    )
    self.assertEqual(imported.code, 0, imported)
    self.assertIn('left over: 0', imported.stdout)
    self.assertIn(f'Wrote {model_dir}/index/000000000.', imported.stdout)
    self.assertEqual(export.code, 0, export)
    self.assertIn('shared_embedder/projection/kernel', export.stdout)
    self.assertCountEqual(
      os.listdir(exported),
      [
        'README.md',
        'config.json',
        'model.safetensors',
        'special_tokens_map.json',
        'tokenizer.json',
        'tokenizer_config.json',
        'vocab.txt',
      ],
    )


if __name__ == '__main__':
  absltest.main()
