"""Tests for realm_tf.exchange.hugging_face; tests/parity has the numbers."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.exchange import hugging_face
from realm_tf.model import realm_model
from tests.exchange import small_bert

_CONFIG = small_bert.CONFIG


def _write_directory(directory, arrays, **changes):
  small_bert.write(directory, {**_CONFIG, **changes}, arrays)


class HuggingFaceTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.arrays = small_bert.random_weights(_CONFIG, np.random.default_rng(0))

  @parameterized.parameters('bert.', '')
  def test_a_plain_bert_fills_both_towers_and_the_reader(self, prefix):
    old = {'weight': 'gamma', 'bias': 'beta'} if prefix else {}
    arrays = {}
    for name, value in self.arrays.items():
      start, norm, end = name.partition('LayerNorm.')
      arrays[prefix + start + norm + old.get(end, end)] = value
    _write_directory(self.directory, arrays)
    found = hugging_face.read(self.directory)
    model = realm_model.RealmModel(
      found.model, [realm_model.EMBEDDER, realm_model.SPAN]
    )
    loaded = model.load(found.arrays)

    embedder = found.model.embedder
    self.assertEqual((embedder.head, embedder.normalize), ('mean', True))
    self.assertEqual(embedder.embedding_size, 6)
    self.assertEqual(found.model.reader_bert.activation, 'gelu')
    self.assertEmpty(found.report.left_over)
    self.assertEmpty(loaded.left_over)
    # BERT lacks only the span reader's head.
    self.assertEqual(
      {name.split('/')[0] for name in loaded.missing}, {'span_reader'}
    )
    for encoder in (model.query_embedder.encoder, model.span_reader.encoder):
      np.testing.assert_array_equal(
        encoder.get_embedding_table(),
        self.arrays['embeddings.word_embeddings.weight'],
      )

  def test_report_names_unused_weights(self):
    arrays = {
      name: value
      for name, value in self.arrays.items()
      if not name.startswith('pooler')
    }
    _write_directory(
      self.directory, {**arrays, 'embeddings.position_ids': np.zeros(7)}
    )
    found = hugging_face.read(self.directory)
    report = found.report
    # No head reads the missing pooler, so zeros complete the model.
    self.assertFalse(found.arrays['shared_bert/pooler_transform/kernel'].any())
    self.assertEqual(report.left_over, ['embeddings.position_ids'])
    self.assertEqual(
      report.missing,
      [
        f'{tower}_bert/pooler_transform/{part}'
        for tower in ('reader', 'shared')
        for part in ('bias', 'kernel')
      ],
    )
    self.assertEqual(report.used, sorted(arrays))

  @parameterized.parameters(
    ({'position_embedding_type': 'relative_key'}, 'position_embedding_type'),
    ({'is_decoder': True}, 'is_decoder'),
    ({'add_cross_attention': True}, 'add_cross_attention'),
    ({'pruned_heads': {'0': [1]}}, 'pruned_heads'),
    ({'quantization_config': {'bits': 8}}, 'quantization_config'),
    ({'hidden_act': 'silu'}, "hidden_act`, which is 'silu'"),
    ({'hidden_size': 10**9}, 'hidden_size'),
    ({'hidden_size': 10**400}, 'hidden_size'),
    ({'intermediate_size': 10**9}, 'intermediate_size'),
    ({'num_hidden_layers': 3}, 'It lacks 32 values, reader_bert/.*layer_2'),
    ({'layer_norm_eps': 1e-5}, 'layer_norm_eps`, which is 1e-05'),
    ({'model_type': None}, 'model_type'),
    ({'model_type': 'gpt2'}, 'a gpt2 in'),
    ({'num_attention_heads': 4}, 'num_heads=4'),
    ({'tie_word_embeddings': 1}, 'tie_word_embeddings'),
  )
  def test_refuses_unsupported_fields_by_name(self, changes, found):
    _write_directory(self.directory, self.arrays, **changes)
    with self.assertRaisesRegex(errors.UserError, found):
      hugging_face.read(self.directory)

  def _mlm(self, **more):
    linear = self.arrays['pooler.dense.weight']
    name = 'cls.predictions.transform'
    return {
      **{f'bert.{name}': value for name, value in self.arrays.items()},
      f'{name}.dense.weight': linear,
      f'{name}.dense.bias': linear[0],
      f'{name}.LayerNorm.weight': linear[0],
      f'{name}.LayerNorm.bias': linear[0],
      **more,
    }

  def test_second_names_of_shared_weights_are_read(self):
    bias = np.arange(11, dtype=np.float32)
    arrays = self._mlm(**{'cls.predictions.decoder.bias': bias})
    words = arrays.pop('bert.embeddings.word_embeddings.weight')
    arrays['cls.predictions.decoder.weight'] = words
    _write_directory(self.directory, arrays)
    found = hugging_face.read(self.directory)
    np.testing.assert_array_equal(
      found.arrays['masked_lm/output_bias/bias'], bias
    )
    np.testing.assert_array_equal(
      found.arrays['reader_bert/word_embeddings/embeddings'], words
    )
    self.assertEmpty(found.report.left_over)

  @parameterized.parameters('weight', 'bias')
  def test_a_head_without_shared_weights_is_refused(self, end):
    bias = np.zeros(11, np.float32)
    words = self.arrays['embeddings.word_embeddings.weight']
    other = 1 + {'weight': words, 'bias': bias}[end]
    head = 'cls.predictions.'
    arrays = self._mlm(**{f'{head}bias': bias, f'{head}decoder.{end}': other})
    _write_directory(self.directory, arrays, tie_word_embeddings=False)
    with self.assertRaisesRegex(errors.UserError, 'tie_word_embeddings'):
      hugging_face.read(self.directory)

  def test_the_masked_lm_head_of_an_embedder_is_ignored(self):
    words = self.arrays['embeddings.word_embeddings.weight']
    projection = np.ones([128, 6], np.float32)
    arrays = {
      **{f'realm.{name}': value for name, value in self.arrays.items()},
      'cls.predictions.decoder.weight': 1 + words,
      'cls.dense.weight': projection,
      'cls.dense.bias': projection[:, 0],
      'cls.LayerNorm.weight': projection[:, 0],
      'cls.LayerNorm.bias': projection[:, 0],
    }
    _write_directory(
      *(self.directory, arrays),
      **{'architectures': ['RealmEmbedder'], 'model_type': 'realm'},
    )
    found = hugging_face.read(self.directory).arrays
    np.testing.assert_array_equal(
      found['shared_bert/word_embeddings/embeddings'], words
    )

  def test_a_third_segment_is_dropped_and_one_segment_is_refused(self):
    name = 'embeddings.token_type_embeddings.weight'
    types = self.arrays[name]
    _write_directory(self.directory, {**self.arrays, name: types.repeat(2, 0)})
    found = hugging_face.read(self.directory)
    self.assertLen(found.arrays['shared_bert/type_embeddings/embeddings'], 2)
    _write_directory(self.directory, {**self.arrays, name: types[:1]})
    found = hugging_face.read(self.directory)
    model = realm_model.RealmModel(found.model, [realm_model.EMBEDDER])
    with self.assertRaisesRegex(errors.UserError, r'must have shape \(2, 6\)'):
      model.load(found.arrays)

  @parameterized.parameters(np.nan, np.inf)
  def test_weights_that_are_not_finite_are_refused(self, value):
    name = 'encoder.layer.1.output.dense.bias'
    self.arrays[name][2] = value
    _write_directory(self.directory, self.arrays)
    with self.assertRaisesRegex(errors.UserError, name):
      hugging_face.read(self.directory)

  def test_a_missing_config_is_named(self):
    with self.assertRaisesRegex(errors.UserError, self.directory):
      hugging_face.read(self.directory)


if __name__ == '__main__':
  absltest.main()
