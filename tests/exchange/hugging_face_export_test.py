"""Tests for realm_tf.exchange.hugging_face_export."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.data import joining
from realm_tf.exchange import hugging_face
from realm_tf.exchange import hugging_face_export
from realm_tf.exchange import model_writing
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.training import job as job_lib
from tests import model_dirs
from tests import tiny
from tests.exchange import small_bert

_ONE_LAYER = small_bert.CONFIG | {'num_hidden_layers': 1}


class HuggingFaceExportTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.exported = os.path.join(self.directory, 'exported')

  def _model_dir(self, parts, span_head='mlp', **changes):
    """Writes a random model; returns its directory and variables by name."""
    corpus_dir = tiny.write_corpus(self.directory)
    embedder = config_lib.EmbedderConfig(embedding_size=4, **changes)
    config = tiny.config(model={'embedder': embedder, 'span_head': span_head})
    inputs = job_lib.open_inputs(config, corpus_dir)
    model_dir = os.path.join(self.directory, 'model')
    model = model_dirs.write(model_dir, inputs, parts, noise=1.0)
    return model_dir, weights.by_name(model.variables)

  @parameterized.parameters('query', 'block', 'reader')
  def test_round_trip_through_the_importer_is_exact(self, tower):
    model_dir, variables = self._model_dir(
      [realm_model.EMBEDDER, realm_model.SPAN]
    )
    left_out = hugging_face_export.export(model_dir, tower, self.exported)
    found = hugging_face.read(self.exported)
    self.assertEmpty(found.report.missing)
    self.assertEmpty(found.report.left_over)
    encoder = {n: v for n, v in variables.items() if n.startswith(tower + '_b')}
    self.assertLen(encoder, 23)  # Embeddings 5, layer 16, pooler 2.
    names = small_bert.random_weights(_ONE_LAYER, np.random.default_rng(0))
    self.assertCountEqual(found.report.used, names)
    for name, variable in encoder.items():
      ours = 'reader' + name.removeprefix(tower)
      np.testing.assert_array_equal(found.arrays[ours], variable, name)
    # Only the span reader is omitted; the projection of [CLS] is 2_Dense.
    head = 'span_reader/' if tower == 'reader' else 'none'
    self.assertEqual(
      left_out, sorted(n for n in variables if n.startswith(head))
    )
    bert = found.model.reader_bert
    self.assertEqual((bert.num_heads, bert.hidden_size), (2, 8))

  def test_a_linear_reader_returns_with_its_head(self):
    model_dir, variables = self._model_dir(
      [realm_model.SPAN], span_head='linear_null'
    )
    left_out = hugging_face_export.export(model_dir, 'reader', self.exported)
    self.assertEmpty(left_out)
    found = hugging_face.read(self.exported)
    self.assertEmpty(found.report.missing)
    for part in ('kernel', 'bias'):
      name = f'span_reader/linear/{part}'
      np.testing.assert_array_equal(found.arrays[name], variables[name])

  @parameterized.parameters(
    {'head': 'max'},
    {'head': 'first', 'normalize': True},
    {'head': 'mean', 'dense': 'tanh', 'normalize': True},
    {'head': 'first', 'dense': 'identity'},
    {'head': 'cls'},  # Imported as 'first' with Dense, the same function.
  )
  def test_round_trip_keeps_the_embedder(self, **head):
    model_dir, variables = self._model_dir(
      [realm_model.EMBEDDER],
      shared_towers=True,
      query_prompt='5 6',
      block_prompt='7',
      **head,
    )
    hugging_face_export.export(model_dir, 'query', self.exported)
    found = hugging_face.load(self.exported)
    config = model_writing.fit_lengths(found, tiny.TOKENIZER).model
    self.assertEqual(config.embedder.query_prompt, '5 6')
    self.assertEqual(config.embedder.block_prompt, '7')
    model = realm_model.RealmModel(config, [realm_model.EMBEDDER])
    self.assertEmpty(model.load(found.arrays).missing)
    before = realm_model.RealmModel(
      config_files.read(model_dir).model, [realm_model.EMBEDDER]
    )
    before.load({name: value.numpy() for name, value in variables.items()})
    tokens = joining.pack(
      tf.constant([[7, 8, 9], [7, 0, 0]]), None, *tiny.SPECIAL_IDS, 5
    )
    np.testing.assert_allclose(
      model.embed_blocks(tokens), before.embed_blocks(tokens), atol=1e-6
    )

  def test_the_releases_head_has_no_modules_and_a_missing_one_is_named(self):
    model_dir, _ = self._model_dir([realm_model.EMBEDDER], head='pooled')
    left_out = hugging_face_export.export(model_dir, 'query', self.exported)
    self.assertLen(left_out, 4)
    self.assertFalse(os.path.exists(f'{self.exported}/modules.json'))
    self.assertIn('query_embedder/layer_norm/beta', left_out)
    with self.assertRaisesRegex(errors.UserError, '--tower=reader'):
      hugging_face_export.export(model_dir, 'reader', self.exported)


if __name__ == '__main__':
  absltest.main()
