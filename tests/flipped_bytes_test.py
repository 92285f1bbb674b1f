"""Tests that checksums and jobs find a flipped bit in any file."""

import os
import pathlib
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import query_table
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.run import layout
from realm_tf.run import versions
from tests import forks
from tests import whole_directories


def _flip(path: str) -> None:
  """Flips a bit in the middle of a file."""
  data = bytearray(pathlib.Path(path).read_bytes())
  data[len(data) // 2] ^= 1
  pathlib.Path(path).write_bytes(data)


def _build_index(corpus_dir, model_dir):
  builder = index_builder.open_builder(model_dir, corpus_dir)
  params = versions.newest(layout.params_root(model_dir))
  builder.publish(params, f'{model_dir}/other_index')


def _verify(directory):
  """Compares every file with its checksum, as jobs do one by one."""
  table = block_table.BlockTable.open(f'{directory}/corpus', verify=True)
  query_table.QueryTable.open(f'{directory}/queries', verify=True)
  model_dir = f'{directory}/model'
  model_files.open_model(model_dir, table=table)
  for root in (layout.params_root(model_dir), layout.index_root(model_dir)):
    for version in versions.complete(root):
      versions.verify(version.path)


class FlippedBytesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.intact = cls.enterClassContext(tempfile.TemporaryDirectory())
    whole_directories.write(cls.intact)

  def _copy(self, name=''):
    """Returns a copy of the directories, with a flipped bit in file `name`."""
    directory = os.path.join(self.create_tempdir().full_path, 'copy')
    shutil.copytree(self.intact, directory)
    if name:
      _flip(os.path.join(directory, name))
    return directory

  def test_checksums_find_a_flipped_bit_in_every_file(self):
    names = sorted(
      os.path.relpath(path, self.intact)
      for path in pathlib.Path(self.intact).rglob('*')
      # A config has no checksum, as users may edit it. A complete index does
      # not need its plan. data.json only keeps a run from other data.
      if path.name not in ('config.json', 'plan.json', 'data.json')
      and path.is_file()
      and path.stat().st_size
    )
    for kind in ('texts', 'own_hashes.npy', 'params.safetensors', 'vocab'):
      self.assertTrue(any(kind in name for name in names), names)
    _verify(self._copy())
    for name in names:
      with (
        self.subTest(name),
        self.assertRaisesRegex(errors.UserError, os.path.dirname(name)),
      ):
        _verify(self._copy(name))

  @parameterized.named_parameters(
    ('index_of_a_corpus', 'corpus/table/body_ids.npy', _build_index),
    (
      'corpus_of_a_corpus',
      'corpus/table/texts.npy',
      lambda corpus_dir, _: corpus_files.CorpusUpdate(corpus_dir, []),
    ),
    (
      'index_of_parameters',
      'model/params/000000000/params.safetensors',
      _build_index,
    ),
  )
  def test_a_job_finds_a_flipped_bit(self, name, job):
    directory = self._copy()
    job(f'{directory}/corpus', f'{directory}/model')
    directory = self._copy(name)
    with self.assertRaisesRegex(errors.UserError, f'{name} must be unchanged'):
      job(f'{directory}/corpus', f'{directory}/model')

  def test_training_finds_a_flipped_bit_in_queries(self):
    directory = self._copy('queries/ids.npy')
    flags = [
      f'--{kind}_dir={directory}/{kind}' for kind in ('corpus', 'queries')
    ]
    (result,) = forks.run_all(
      [('pretrain', [*flags, f'--run_dir={directory}/run'])]
    )
    self.assertEqual(result.code, 2, result)
    self.assertIn('queries/ids.npy must be unchanged', result.stderr)


if __name__ == '__main__':
  absltest.main()
