"""Tests that damaged directories are refused in one line, or work."""

import copy
import hashlib
import json
import os
import pathlib
import shutil
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import query_table
from realm_tf.index import index_builder
from realm_tf.index import model_files
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.run import layout
from realm_tf.run import manifests
from realm_tf.run import versions
from realm_tf.training import job as job_lib
from tests import forks
from tests import model_dirs
from tests import tiny

_VALUES = (None, -1, 10**9, 10**30, 0.5, float('nan'), True, 'x', '٣', [[]], {})
_DELETED = object()


def _write(directory):
  """Writes corpus/, queries/ and model/, with an index, below `directory`."""
  corpus_dir = tiny.write_corpus(directory)
  tiny.write_queries(
    directory,
    [tiny.query([5, 6], [[0, 1]], 0, 'a b')],
    corpus=block_table.BlockTable.open(corpus_dir),
  )
  model_dir = os.path.join(directory, 'model')
  inputs = job_lib.open_inputs(tiny.config(), corpus_dir)
  model = model_dirs.write(model_dir, inputs, [realm_model.EMBEDDER])
  model_dirs.index(inputs, model, layout.index_root(model_dir))


def _open_corpus(directory):
  table = block_table.BlockTable.open(f'{directory}/corpus')
  ids = range(table.num_blocks)
  for read in (table.titles, table.texts):
    list(read(ids))
  table.lengths()
  update = corpus_files.CorpusUpdate(f'{directory}/corpus', ['first'])
  update.write([], f'{directory}/new', source={}, counts=counts_lib.Counts())


def _open_queries(directory):
  table = block_table.BlockTable.open(f'{directory}/corpus')
  queries = query_table.QueryTable.open(f'{directory}/queries')
  queries.fit_corpus(table)
  for number in range(queries.num_queries):
    queries.query(number)


def _open_index(directory):
  corpus_fingerprint = block_table.fingerprint(f'{directory}/corpus')
  storage.load(f'{directory}/model/index/000000000', corpus_fingerprint)


def _variants(tree):
  """Yields (path, copy of `tree` with that value replaced or deleted)."""
  for path in _paths(tree):
    for value in (*_VALUES, _DELETED):
      changed = copy.deepcopy(tree)
      parent = changed
      for key in path[:-1]:
        parent = parent[key]
      if value is _DELETED:
        del parent[path[-1]]
      else:
        parent[path[-1]] = value
      yield f'{path} {value!r}', changed


def _paths(tree, above=()):
  items = tree.items() if isinstance(tree, dict) else enumerate(tree)
  for key, value in items:
    yield (*above, key)
    if isinstance(value, (dict, list)):
      yield from _paths(value, (*above, key))


def _sealed(manifest):
  manifest.pop('manifest_sha256', None)
  text = json.dumps(manifest, sort_keys=True)
  sha256 = hashlib.sha256(text.encode()).hexdigest()
  return json.dumps({**manifest, 'manifest_sha256': sha256})


def _verify(directory):
  """Compares every file with its checksum, as jobs do one by one."""
  table = block_table.BlockTable.open(f'{directory}/corpus', verify=True)
  query_table.QueryTable.open(f'{directory}/queries', verify=True)
  model_dir = f'{directory}/model'
  model_files.open_model(model_dir, table=table)
  for version in versions.complete(layout.params_root(model_dir)):
    versions.verify(version.path)
  _open_index(directory)


class DamagedDirectoriesTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.intact = cls.enterClassContext(tempfile.TemporaryDirectory())
    _write(cls.intact)

  def _copy(self, name=''):
    """Returns a copy of the directories, with a flipped bit in file `name`."""
    directory = os.path.join(self.create_tempdir().full_path, 'copy')
    shutil.copytree(self.intact, directory)
    if name:
      path = pathlib.Path(directory, name)
      data = bytearray(path.read_bytes())
      data[len(data) // 2] ^= 1
      path.write_bytes(data)
    return directory

  @parameterized.named_parameters(
    ('corpus', 'corpus', _open_corpus),
    ('queries', 'queries', _open_queries),
    ('index', 'model/index/000000000', _open_index),
  )
  def test_a_field_with_another_value_is_refused_or_works(self, name, job):
    directory = self._copy()
    path = pathlib.Path(directory, name, 'manifest.json')
    intact = path.read_text()
    job(directory)
    num_refused = 0
    for what, manifest in _variants(json.loads(intact)):
      path.write_text(_sealed(manifest))
      try:
        job(directory)
      except errors.UserError:
        num_refused += 1
      except Exception as error:
        raise AssertionError(f'{what} ends in a traceback.') from error
    self.assertGreater(num_refused, 100)

  @parameterized.parameters(
    ('corpus', 'table/body_ids.npy', lambda a: a.astype(np.int64)),
    ('corpus', 'table/body_ids.npy', lambda a: a[:-1]),
    ('corpus', 'table/texts.offsets.npy', lambda a: a[::-1]),
    ('corpus', 'table/article_rows.npy', lambda a: a[::-1]),
    ('corpus', 'table/article_rows.npy', lambda a: a[:-1]),
    ('queries', 'own_blocks.npy', lambda a: a + 999),
    ('model/index/000000000', 'embeddings', lambda a: a.astype(np.float64)),
  )
  def test_wrong_arrays_with_right_checksums_are_refused(
    self, name, part, change
  ):
    directory = self._copy()
    root = pathlib.Path(directory, name)
    (path,) = root.glob(f'{part}*.npy' if part == 'embeddings' else part)
    np.save(path, np.ascontiguousarray(change(np.load(path))))
    manifest = json.loads((root / 'manifest.json').read_text())
    files = manifest.pop('files')
    files[str(path.relative_to(root))] = manifests.describe(str(path))
    manifests.write(str(root), files, manifest)
    job = {'corpus': _open_corpus, 'queries': _open_queries}.get(
      name, _open_index
    )
    with self.assertRaises(errors.UserError):
      job(directory)

  def test_checksums_find_a_flipped_bit_in_every_file(self):
    names = sorted(
      os.path.relpath(path, self.intact)
      for path in pathlib.Path(self.intact).rglob('*')
      # A config has no checksum, as users may edit it. A complete index does
      # not need its plan. data.json only keeps a run from other data, and .lock
      # from other code.
      if path.name not in ('config.json', 'plan.json', 'data.json', '.lock')
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

  def test_a_job_finds_a_flipped_bit(self):
    def build_index(directory):
      model_dir = f'{directory}/model'
      builder = index_builder.open_builder(model_dir, f'{directory}/corpus')
      params = versions.newest(layout.params_root(model_dir))
      builder.publish(params, f'{model_dir}/other_index')

    def pretrain(directory):
      flags = [f'--{n}_dir={directory}/{n}' for n in ('corpus', 'queries')]
      flags.append(f'--run_dir={directory}/run')
      (result,) = forks.run_all([('pretrain', flags)])
      raise errors.UserError(result.stderr)

    build_index(self._copy())
    for name, job in (
      ('corpus/table/body_ids.npy', build_index),
      (
        'corpus/table/texts.npy',
        lambda path: corpus_files.CorpusUpdate(f'{path}/corpus', []),
      ),
      ('model/params/000000000/params.safetensors', build_index),
      ('queries/ids.npy', pretrain),
    ):
      with self.assertRaisesRegex(
        errors.UserError, f'{name} must be unchanged'
      ):
        job(self._copy(name))


if __name__ == '__main__':
  absltest.main()
