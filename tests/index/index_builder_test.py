"""Tests for realm_tf.index.index_builder."""

import contextlib
import os
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.index import embedding
from realm_tf.index import index_builder
from realm_tf.index import refresher
from realm_tf.index import storage
from realm_tf.run import layout
from realm_tf.run import versions
from tests.index import small

_ROWS = np.arange(8, dtype=np.float32).reshape([4, 2])
_HASHES = np.array([30, 10, 2**63 + 1, 20], np.uint64)  # Unsorted.


class IndexBuilderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.temp = self.create_tempdir().full_path
    self.corpus_dir = small.write_corpus(self.temp, [3, 9, 5])
    self.run_dir = small.make_run(self.temp, self.corpus_dir)
    self.index_root = layout.index_root(self.run_dir)

  def _publish_params(self, step, model):
    return small.publish_params(self.run_dir, step, model)

  def _open(self, corpus_dir=None, *overrides):
    corpus_dir = corpus_dir or self.corpus_dir
    return index_builder.open_builder(self.run_dir, corpus_dir, overrides)

  def _publish_index(self, builder, params, base=None):
    version = builder.publish(params, self.index_root, base=base)
    self.assertEqual(version.step, params.step)
    return storage.load(version.path, builder.corpus_fingerprint)

  def _assert_embedded(self, index, model, corpus_dir=None):
    """Checks that the index has the embeddings of the model."""
    table = block_table.BlockTable.open(corpus_dir or self.corpus_dir)
    expected = small.embed_all(table, model)
    np.testing.assert_allclose(index.embeddings, expected, atol=1e-5)

  @contextlib.contextmanager
  def _counting(self):
    """Yields a list that collects the blocks embedded in the body."""
    embedded, embed_blocks = [], embedding.embed_blocks

    def count(embed, table, block_ids, *args, **kwargs):
      embedded.extend(block_ids.tolist())
      return embed_blocks(embed, table, block_ids, *args, **kwargs)

    with mock.patch.object(embedding, 'embed_blocks', count):
      yield embedded

  def test_each_version_is_embedded_with_its_own_parameters(self):
    models = [small.model(seed) for seed in (1, 2)]
    params = [*map(self._publish_params, (0, 500), models)]
    builder = self._open(None, 'index.shard_blocks=2')
    for model, version in zip(models, params, strict=True):
      index = self._publish_index(builder, version)
      self.assertLen(index.manifest['shards'], 2)
      self._assert_embedded(index, model)
      fingerprint = storage.embedder_fingerprint(model)
      self.assertEqual(index.manifest['embedder_fingerprint'], fingerprint)

  def test_an_unchanged_block_embedder_embeds_nothing(self):
    model = small.model(1)
    self._publish_params(0, model)
    builder = self._open()
    with self._counting() as embedded:
      first = self._publish_index(builder, self._publish_params(500, model))
      again = self._publish_index(builder, self._publish_params(600, model))
      self._publish_index(builder, versions.Version(600, again.path))
      self.assertEqual(embedded, [0, 1, 2])
      np.testing.assert_array_equal(again.embeddings, first.embeddings)
      other = self._publish_params(700, small.model(2))
      changed = self._publish_index(builder, other)
      self.assertEqual(embedded, [0, 1, 2] * 2)
    self.assertFalse(np.allclose(changed.embeddings, first.embeddings))

  def test_only_new_blocks_of_a_changed_corpus_are_embedded(self):
    # Blocks are drawn in order, so the first three stay the same.
    newer_dir = small.write_corpus(os.path.join(self.temp, 'b'), [3, 9, 5, 2])
    model = small.model(1)
    params = self._publish_params(0, model)
    base = self._publish_index(self._open(), params)
    with self._counting() as embedded:
      version = self._open(newer_dir).publish(
        params, os.path.join(self.temp, 'newer'), base=base.path
      )
    self.assertEqual(embedded, [3])
    newer = storage.load(version.path, self._open(newer_dir).corpus_fingerprint)
    self._assert_embedded(newer, model, newer_dir)

  def test_a_base_of_other_parameters_is_a_user_error(self):
    first = self._publish_params(0, small.model(1))
    params = self._publish_params(500, small.model(2))
    builder = self._open()
    base = self._publish_index(builder, first)
    with self.assertRaisesRegex(errors.UserError, 'embedder_fingerprint'):
      self._publish_index(builder, params, base=base.path)
    newer = builder.publish(params, self.index_root, base=base.path, fits=False)
    index = storage.load(newer.path, builder.corpus_fingerprint)
    self._assert_embedded(index, small.model(2))

  def test_a_begun_version_needs_no_parameters_of_the_trainer(self):
    model = small.model(1)
    params = self._publish_params(500, model)
    builder = self._open()
    stop = mock.patch.object(
      embedding, 'embed_blocks', side_effect=KeyboardInterrupt
    )
    with stop, self.assertRaises(KeyboardInterrupt):
      builder.publish(params, self.index_root)
    versions.prune(layout.params_root(self.run_dir), 1)
    self._publish_params(1000, small.model(2))
    versions.prune(layout.params_root(self.run_dir), 1)
    run = refresher.RunDirectory(self.run_dir, builder.corpus_fingerprint)
    unfinished = run.unfinished_index()
    self.assertEqual(unfinished.step, 500)
    self._assert_embedded(self._publish_index(self._open(), unfinished), model)

  def test_another_index_of_the_step_is_a_user_error(self):
    params = self._publish_params(0, small.model(1))
    self._publish_index(self._open(), params)
    other = small.write_corpus(os.path.join(self.temp, 'b'), [3])
    with self.assertRaisesRegex(
      errors.UserError, '000000000, with another corpus_fingerprint'
    ):
      self._open(other).publish(params, self.index_root)

  def test_measures_the_recall_of_an_approximate_searcher(self):
    corpus_dir = small.write_corpus(os.path.join(self.temp, 'b'), [5] * 40)
    params = self._publish_params(0, small.model(1))
    builder = self._open(corpus_dir, 'index.searcher=scann')
    index = self._publish_index(builder, params)
    settings = index.manifest['searcher']
    self.assertEqual(settings['recall'], {'target': 0.95, 'num_queries': 512})
    ks = [row['k'] for row in settings['efforts']]
    self.assertEqual(ks, small.CONFIG.searched_ks(40))
    for row in settings['efforts']:
      self.assertBetween(row['measured'], 0.95, 1.0)

  def test_too_long_blocks_are_refused_or_cut_with_a_warning(self):
    # 38 wordpieces, a title of one and three specials are 42, above 40.
    corpus_dir = small.write_corpus(os.path.join(self.temp, 'b'), [38, 5])
    self._publish_params(0, small.model())
    found = '1 of 2 blocks .* lengths.block_tokens=40, up to 42'
    with self.assertRaisesRegex(errors.UserError, found):
      self._open(corpus_dir)
    with self.assertLogs('absl', 'WARNING') as logs:
      self._open(corpus_dir, 'lengths.cut_blocks=true')
    self.assertRegex(''.join(logs.output), found)


class ReusingTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'index')
    self.path = versions.version_path(self.root, 500)
    self.plan = storage.make_plan(
      small.CONFIG, small.model(), small.FINGERPRINT, 4
    )

  @parameterized.parameters(
    ([10], [1]),
    ([20, 30, 10], [3, 0, 1]),
    ([20, 20], [3, 3]),
    ([2**63 + 1, 2**63, 0], [2, None, None]),
    ([11, 2**64 - 1], [None, None]),
    ([], []),
    (_HASHES, [None] * 4, 0),  # The index has no block.
  )
  def test_finds_embeddings_by_hash(self, hashes, rows, num_old=4):
    """Compares with rows of `_ROWS`; None is embedded, as -1."""
    old, old_hashes = _ROWS[:num_old], _HASHES[:num_old]
    small.complete(self.root, 500, old, hashes=old_hashes)
    # An index of another corpus fits.
    plan = self.plan._replace(corpus_fingerprint='e', num_blocks=9)
    new, counts = [], []

    def embed_new(block_ids, progress):
      new.extend(block_ids.tolist())
      progress(len(block_ids))
      return np.full([len(block_ids), 2], -1, np.float32)

    embed = index_builder.reusing(
      self.path, plan, np.array(hashes, np.uint64), embed_new
    )
    found = embed(np.arange(len(hashes)), counts.append)
    self.assertEqual(new, [i for i, row in enumerate(rows) if row is None])
    self.assertEqual(sum(counts), len(hashes))
    self.assertEqual(found.shape, (len(hashes), 2))
    for actual, row in zip(found.tolist(), rows):
      self.assertEqual(actual, [-1, -1] if row is None else [*_ROWS[row]])

  @parameterized.parameters(
    ('embedder_fingerprint', 'e' * 64),
    ('block_tokens', 39),
    ('title_tokens', 2),
    ('embed_dtype', 'bfloat16'),
    ('storage_dtype', 'float16'),
  )
  def test_an_index_embedded_differently_is_a_user_error(self, name, value):
    small.complete(self.root, 500, _ROWS, hashes=_HASHES)
    with self.assertRaisesRegex(
      errors.UserError, f'Found {name} .* in {self.path}, and {str(value)[:12]}'
    ):
      plan = self.plan._replace(**{name: value})
      index_builder.reusing(self.path, plan, _HASHES, mock.Mock())


if __name__ == '__main__':
  absltest.main()
