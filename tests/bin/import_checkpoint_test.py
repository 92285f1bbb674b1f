"""Tests that bin.export writes the model of bin.import_checkpoint."""

import os

from absl.testing import absltest
import numpy as np

from tests import forked_binaries
from tests import tiny
from tests.exchange import tf1_release


class ImportCheckpointTest(absltest.TestCase):
  def test_imports_and_exports(self):
    directory = self.create_tempdir().full_path
    path = lambda name: os.path.join(directory, name)
    rng = np.random.default_rng(0)
    embedder = tf1_release.save(path('model'), tf1_release.embedder(rng))
    rows = rng.normal(size=[3, 4]).astype(np.float32)
    index = tf1_release.save(path('encoded'), {'block_emb': rows})
    blocks = tf1_release.write_blocks(
      path('blocks.tfr'), ['A b. C d.', 'E f.', 'a']
    )
    with open(path('vocab.txt'), 'w') as file:
      file.writelines(f'{piece}\n' for piece in tiny.TOKENIZER.vocabulary)
    imported, exported = forked_binaries.run_all(
      [
        (
          'import_checkpoint',
          [
            f'--source=tf1:{embedder},{index}',
            f'--vocab_file={file.name}',
            f'--blocks={blocks}',
            f'--num_heads={tf1_release.NUM_HEADS}',
            '--num_workers=1',
            f'--output_dir={path("out")}',
          ],
        ),
        (
          'export',
          [
            '--format=hugging_face',
            f'--model_dir={path("out")}',
            '--tower=block',
            f'--output_dir={path("exported")}',
          ],
        ),
      ]
    )
    self.assertEqual(imported.code, 0, imported)
    self.assertIn('left over: 0', imported.stdout)
    self.assertIn(f'Wrote {path("out")}/index/000000000.', imported.stdout)
    self.assertEqual(exported.code, 0, exported)
    self.assertIn('shared_embedder/projection/kernel', exported.stdout)
    self.assertCountEqual(
      os.listdir(path('exported')),
      [
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
