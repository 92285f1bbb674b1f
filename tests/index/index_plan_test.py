"""Tests for realm_tf.index.index_plan."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.index import index_plan
from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from tests.index import small


def _plan(model, num_blocks=10, corpus='c' * 64):
  return index_plan.make(small.CONFIG, model, corpus, num_blocks)


class IndexPlanTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'index')
    self.model = small.model()

  def _path(self, step):
    return versions.version_path(self.root, step)

  def test_round_trip(self):
    self.assertIsNone(index_plan.read(self._path(500)))
    plan = _plan(self.model)
    index_plan.start(self._path(500), plan, self.model)
    self.assertEqual(index_plan.read(self._path(500)), plan)
    self.assertFalse(versions.is_complete(self._path(500)))

  def test_a_begun_version_holds_the_embedders(self):
    index_plan.start(self._path(500), _plan(self.model), self.model)
    self.assertCountEqual(
      os.listdir(self._path(500)), ['params.safetensors', 'plan.json']
    )
    other = small.model(seed=1)
    expected = weights.fingerprint(self.model.variables)
    self.assertNotEqual(weights.fingerprint(other.variables), expected)
    arrays = weights.read(layout.params_file(self._path(500)))
    realm_model.require_parts(other.load(arrays), 'the file')
    self.assertEqual(weights.fingerprint(other.variables), expected)

  def test_starting_again_writes_nothing(self):
    plan = _plan(self.model)
    index_plan.start(self._path(500), plan, self.model)
    params = pathlib.Path(layout.params_file(self._path(500)))
    params.write_bytes(b'old')
    index_plan.start(self._path(500), plan, self.model)
    self.assertEqual(params.read_bytes(), b'old')

  def test_other_parameters_make_another_plan(self):
    other = small.model(seed=1)
    names = {_plan(model).name for model in (self.model, other)}
    names.add(_plan(self.model, num_blocks=11).name)
    self.assertLen(names, 3)
    index_plan.start(self._path(500), _plan(self.model), self.model)
    index_plan.start(self._path(500), _plan(other), other)
    self.assertEqual(index_plan.read(self._path(500)), _plan(other))

  @parameterized.parameters((1, [4]), (10, [4, 4, 2]), (12, [4, 4, 4]))
  def test_shards_share_the_blocks(self, num_blocks, lengths):
    plan = _plan(self.model, num_blocks)._replace(shard_blocks=4)
    lengths = [min(length, num_blocks) for length in lengths]
    rows = [plan.shard_rows(i) for i in range(plan.num_shards)]
    self.assertEqual([len(shard) for shard in rows], lengths)
    self.assertEqual([i for shard in rows for i in shard], [*range(num_blocks)])

  def test_finds_the_newest_begun_version(self):
    find = lambda: index_plan.find_unfinished(self.root, 'c' * 64)
    self.assertIsNone(find())
    os.makedirs(self._path(1500))  # Only a directory yet.
    self.assertIsNone(find())
    for step in (500, 1000):
      index_plan.start(self._path(step), _plan(self.model), self.model)
    self.assertEqual(find(), versions.Version(1000, self._path(1000)))
    # A version of another corpus is ignored.
    index_plan.start(
      self._path(2000), _plan(self.model, corpus='d' * 64), self.model
    )
    self.assertEqual(find().step, 1000)
    versions.seal(self._path(1000), 1000, {}, {})
    self.assertIsNone(find())

  @parameterized.parameters('', '{"num_blocks": 3}', '[]')
  def test_an_unreadable_plan_is_none(self, text):
    index_plan.start(self._path(500), _plan(self.model), self.model)
    pathlib.Path(self._path(500), 'plan.json').write_text(text)
    self.assertIsNone(index_plan.read(self._path(500)))

  def test_variables_of_a_shared_tower_count_once(self):
    towers = (self.model.query_embedder, self.model.block_embedder)
    self.assertCountEqual(
      [v.name for v in index_plan.embedder_variables(self.model)],
      [v.name for tower in towers for v in tower.variables],
    )
    self.model.block_embedder = self.model.query_embedder
    self.assertLen(
      index_plan.embedder_variables(self.model), len(towers[0].variables)
    )

  def test_shared_and_separate_towers_have_equal_fingerprints(self):
    before = index_plan.embedder_fingerprint(self.model)
    query, block = self.model.query_embedder, self.model.block_embedder
    self.model.block_embedder = query
    self.assertNotEqual(index_plan.embedder_fingerprint(self.model), before)
    for variable, value in zip(query.variables, block.variables, strict=True):
      variable.assign(value)
    self.assertEqual(index_plan.embedder_fingerprint(self.model), before)


if __name__ == '__main__':
  absltest.main()
