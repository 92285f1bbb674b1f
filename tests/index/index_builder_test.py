"""Tests for realm_tf.index.index_builder."""

import os
import pathlib
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.index import block_embeddings
from realm_tf.index import index_builder
from realm_tf.index import storage
from realm_tf.modeling import weights
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.rundir import model_directory
from realm_tf.rundir import versions
from tests.index import small


class IndexBuilderTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    temp = self.create_tempdir().full_path
    self.corpus_dir = small.write_corpus(temp, [3, 9, 5])
    self.table = block_table.BlockTable.open(self.corpus_dir)
    self.run_dir = os.path.join(temp, 'run')
    model_directory.create(
      self.run_dir, small.CONFIG, layout.vocab_file(self.corpus_dir)
    )

  def _publish_params(self, step, model, variables=None):
    return versions.publish(
      layout.params_root(self.run_dir),
      step,
      lambda path: weights.write(
        variables or model.variables, layout.params_file(path)
      ),
      {},
    )

  def _publish_index(self, builder, params):
    version = builder.publish(params, layout.index_root(self.run_dir))
    self.assertEqual(version.step, params.step)
    return storage.load(
      version.path,
      self.table.manifest['corpus_fingerprint'],
      small.CONFIG.index,
    )

  def test_embeds_with_each_versions_own_parameters(self):
    models = [small.model(seed) for seed in (1, 2)]
    params = [
      self._publish_params(500 * seed, model)
      for seed, model in enumerate(models)
    ]
    builder = index_builder.open_builder(self.run_dir, self.corpus_dir)
    for model, version in zip(models, params):
      index = self._publish_index(builder, version)
      expected = block_embeddings.embed_blocks(
        block_embeddings.compile_embedding(model, small.SPECIAL_IDS),
        self.table,
        small.CONFIG.lengths,
        2,
      )
      np.testing.assert_allclose(index.embeddings, expected, atol=1e-5)
      self.assertEqual(
        index.manifest['embedder_fingerprint'],
        weights.fingerprint(model.block_embedder.variables),
      )

  def test_does_not_embed_again_with_the_same_block_embedder(self):
    model = small.model(1)
    self._publish_params(0, model)
    builder = index_builder.open_builder(self.run_dir, self.corpus_dir)
    with mock.patch.object(
      block_embeddings,
      'embed_blocks',
      side_effect=block_embeddings.embed_blocks,
    ) as embed:
      first = self._publish_index(builder, self._publish_params(500, model))
      again = self._publish_index(builder, self._publish_params(600, model))
      self.assertEqual(embed.call_count, 1)
      np.testing.assert_array_equal(again.embeddings, first.embeddings)
      other = self._publish_params(700, small.model(2))
      changed = self._publish_index(builder, other)
      self.assertEqual(embed.call_count, 2)
      self.assertFalse(np.allclose(changed.embeddings, first.embeddings))

  def test_parameters_without_embedder_are_a_user_error(self):
    model = small.model()
    self._publish_params(0, model)
    builder = index_builder.open_builder(self.run_dir, self.corpus_dir)
    params = self._publish_params(
      500, model, [model.query_embedder.projection.kernel]
    )
    with self.assertRaisesRegex(errors.UserError, f'{params.path} lacks'):
      builder.publish(params, layout.index_root(self.run_dir))
    self.assertIsNone(versions.newest(layout.index_root(self.run_dir)))

  def test_damaged_parameters_are_a_user_error(self):
    params = self._publish_params(0, small.model())
    builder = index_builder.open_builder(self.run_dir, self.corpus_dir)
    pathlib.Path(layout.params_file(params.path)).write_bytes(b'')
    with self.assertRaisesRegex(errors.UserError, 'params.safetensors must'):
      builder.publish(params, layout.index_root(self.run_dir))

  def test_other_vocabulary_is_a_user_error(self):
    self._publish_params(0, small.model())
    vocabulary = pathlib.Path(layout.vocab_file(self.run_dir))
    vocabulary.write_text(vocabulary.read_text() + 'more\n')
    with self.assertRaisesRegex(errors.UserError, 'share one vocabulary'):
      index_builder.open_builder(self.run_dir, self.corpus_dir)


if __name__ == '__main__':
  absltest.main()
