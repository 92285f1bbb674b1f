"""Tests for realm_tf.exchange.sentence_transformers.

`text_lengths` makes the prompts and lengths.
"""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.exchange import hugging_face
from realm_tf.exchange import model_writing
from realm_tf.model import realm_model
from realm_tf.model import weights
from tests import tiny
from tests.exchange import small_bert

_CONFIG = small_bert.CONFIG | {
  'num_hidden_layers': 1,
  'vocab_size': tiny.TOKENIZER.vocab_size,
  'max_position_embeddings': 40,
}
_OLD = 'sentence_transformers.models.'
_NEW = {
  'Transformer': 'sentence_transformers.base.modules.transformer.Transformer',
  'Pooling': 'sentence_transformers.modules.pooling.Pooling',
}
_DENSE = {'in_features': 6, 'out_features': 3}
_SETTINGS = 'config_sentence_transformers.json'
_ENCODER = 'sentence_bert_config.json'
_POOLING = '1_Pooling/config.json'


class SentenceTransformersTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self._write_bert(_CONFIG)
    self._write(_POOLING, {'pooling_mode_mean_tokens': True})
    self._modules('Transformer', 'Pooling', 'Normalize')

  def _write_bert(self, config):
    arrays = small_bert.random_weights(config, np.random.default_rng(0))
    vocabulary = tiny.TOKENIZER.vocabulary
    small_bert.write(self.directory, config, arrays, vocabulary)

  def _path(self, name):
    path = os.path.join(self.directory, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    return path

  def _write(self, name, value):
    with open(self._path(name), 'w') as file:
      file.write(value if isinstance(value, str) else json.dumps(value))

  def _modules(self, *kinds, **paths):
    self._write(
      'modules.json',
      [
        {
          'path': paths.get(kind, f'{i}_{kind}' if i else ''),
          'type': kind if '.' in kind else _OLD + kind,
        }
        for i, kind in enumerate(kinds)
      ],
    )

  def _embedder(self):
    return hugging_face.read(self.directory).model.embedder

  def _config(self):
    found = hugging_face.load(self.directory)
    return model_writing.fit_lengths(found, tiny.TOKENIZER)

  @parameterized.parameters(
    ({'pooling_mode_cls_token': True}, 'first'),
    ({'pooling_mode_max_tokens': True, 'pooling_mode_cls_token': False}, 'max'),
    ({'pooling_mode': 'cls', 'include_prompt': True}, 'first'),
    ({'pooling_mode': 'max', 'pooling_mode_cls_token': True}, 'max'),
    ({'word_embedding_dimension': 6}, 'mean'),
  )
  def test_pooling_in_both_spellings(self, config, head):
    self._write(_POOLING, config)
    self.assertEqual(self._embedder().head, head)

  @parameterized.parameters(
    (_POOLING, {'pooling_mode': 'lasttoken'}, 'lasttoken'),
    (_POOLING, {'pooling_mode': ['cls', 'mean']}, "'cls', 'mean'"),
    (_POOLING, {'pooling_mode': 3}, r'\[3\]'),
    (_POOLING, {'pooling_mode_mean_sqrt_len_tokens': True}, 'mean_sqrt_len'),
    (_POOLING, {'pooling_mode_mean_tokens': 'yes'}, 'pooling_mode_mean_tokens'),
    (_SETTINGS, {'similarity_fn_name': 'euclidean'}, 'euclidean'),
    (_SETTINGS, {'model_type': 'SparseEncoder'}, 'SparseEncoder'),
    (_SETTINGS, {'truncate_dim': 3}, 'truncate_dim'),
    (_SETTINGS, {'prompts': {'query': 3}}, r'`str \| null`, got `int`'),
    (_SETTINGS, {'default_prompt_name': 'x'}, 'default_prompt_name'),
    (_SETTINGS, {'prompts': {'query': 'a'}}, 'end with a space'),
    (_ENCODER, {'transformer_task': 'fill-mask'}, 'fill-mask'),
    (_ENCODER, {'tokenizer_args': {'padding_side': 'left'}}, 'padding_side'),
    (_ENCODER, {'modality_config': {'text': {}}}, 'modality_config'),
    (_ENCODER, {'max_seq_length': 'long'}, 'max_seq_length'),
    (_ENCODER, {'max_seq_length': 4}, 'maximal length of 4'),
    *(
      ('modules.json', text, 'modules.json')
      for text in ('{}', '[3]', '[{"type": 3}]', '')
    ),
  )
  def test_refuses_other_settings_by_name(self, name, content, found):
    self._write(name, content)
    with self.assertRaisesRegex(errors.UserError, found):
      self._config()

  def test_modules_json_decides_not_the_directories(self):
    kinds = _NEW['Transformer'], _NEW['Pooling']
    self._modules(*kinds, **{_NEW['Pooling']: 'pool'})
    self._write('pool/config.json', {'pooling_mode': 'max'})
    embedder = self._embedder()
    self.assertEqual((embedder.head, embedder.normalize), ('max', False))
    self.assertEqual(embedder.score_scale, 1.0)

  @parameterized.parameters(
    (['Transformer'], "'Transformer'"),
    (['Transformer', 'Pooling', 'Normalize', 'Dense'], 'in this order'),
    (['Transformer', 'WeightedLayerPooling', 'Pooling'], 'WeightedLayerPool'),
    (['Transformer', 'Pooling', 'custom.Pooling'], 'custom.Pooling'),
    ([], 'in this order'),
  )
  def test_refuses_other_modules_by_name(self, kinds, found):
    self._modules(*kinds)
    with self.assertRaisesRegex(errors.UserError, found):
      self._embedder()

  def test_the_old_layout_has_an_encoder_directory(self):
    for name in ('config.json', 'model.safetensors', 'vocab.txt'):
      os.rename(self._path(name), self._path(f'0_Transformer/{name}'))
    self._modules('Transformer', 'Pooling', Transformer='0_Transformer')
    found = hugging_face.load(self.directory)
    self.assertEqual(found.vocab_file, self._path('0_Transformer/vocab.txt'))
    self.assertNotEmpty(found.arrays)

  @parameterized.parameters(True, False)
  def test_dense_becomes_the_projection(self, has_bias):
    self._modules('Transformer', 'Pooling', 'Dense')
    self._write('2_Dense/config.json', _DENSE)
    kernel = np.arange(18, dtype=np.float32).reshape(3, 6)
    bias = {'linear.bias': np.ones(3, np.float32)} if has_bias else {}
    weights.write(
      {'linear.weight': kernel, **bias}, self._path('2_Dense/model.safetensors')
    )
    found = hugging_face.load(self.directory)
    embedder = found.model.embedder
    self.assertEqual((embedder.dense, embedder.embedding_size), ('tanh', 3))
    name = 'shared_embedder/projection'
    np.testing.assert_array_equal(found.arrays[f'{name}/kernel'], kernel.T)
    np.testing.assert_array_equal(found.arrays[f'{name}/bias'], [has_bias] * 3)
    model = realm_model.RealmModel(found.model, [realm_model.EMBEDDER])
    self.assertEmpty(model.load(found.arrays).missing)

  @parameterized.parameters(
    ({'activation_function': 'torch.nn.modules.activation.GELU'}, 'GELU'),
    ({'module_input_name': 'token_embeddings'}, 'module_input_name'),
  )
  def test_refuses_another_dense_by_name(self, changes, found):
    self._modules('Transformer', 'Pooling', 'Dense')
    self._write('2_Dense/config.json', {**_DENSE, **changes})
    weights.write(
      {'linear.weight': np.zeros([3, 6])},
      self._path('2_Dense/model.safetensors'),
    )
    with self.assertRaisesRegex(errors.UserError, found):
      hugging_face.read(self.directory)

  @parameterized.parameters(
    ({'query': 'a b ', 'document': 'c '}, None, 'a b', 'c'),
    ({'query': '', 'passage': 'c '}, None, '', 'c'),
    ({'query': 'a ', 'document': '', 'passage': 'c '}, None, 'a', 'c'),
    ({'query': 'a ', 'other': 'c '}, 'other', 'a', 'c'),
    ({'other': 'c '}, None, '', ''),
  )
  def test_prompts_become_wordpieces_of_config(self, texts, name, *expected):
    self._write(_SETTINGS, {'prompts': texts, 'default_prompt_name': name})
    embedder = self._config().model.embedder
    pieces = tiny.TOKENIZER.vocabulary
    for ids, text in zip(
      (embedder.query_prompt, embedder.block_prompt), expected, strict=True
    ):
      self.assertEqual(' '.join(pieces[int(i)] for i in ids.split()), text)

  @parameterized.parameters(
    ('cosine', True, 20.0), ('dot', False, 1.0), (None, False, 1.0)
  )
  def test_similarity_decides_without_a_normalize_module(
    self, name, normalize, scale
  ):
    self._modules('Transformer', 'Pooling')
    self._write(_SETTINGS, {'similarity_fn_name': name})
    embedder = self._embedder()
    self.assertEqual(embedder.normalize, normalize)
    self.assertEqual(embedder.score_scale, scale)

  @parameterized.parameters(
    (None, None, 40),
    (24, None, 24),
    (None, 22, 22),
    (24, 22, 24),
    (512, None, 40),
    (None, 1e30, 40),
  )
  def test_lengths_respect_the_librarys_limits(self, own, tokenizers, longest):
    self._write(_ENCODER, {'max_seq_length': own})
    self._write('tokenizer_config.json', {'model_max_length': tokenizers})
    self._write(_SETTINGS, {'prompts': {'query': 'a ', 'document': 'a b '}})
    lengths = self._config().lengths
    self.assertEqual(lengths.block_tokens, longest - 2)
    self.assertLessEqual(lengths.query_tokens, longest - 1)

  def test_queries_are_as_long_as_blocks_leave_room_for(self):
    self._write_bert(_CONFIG | {'max_position_embeddings': 512})
    self._write(_ENCODER, {'max_seq_length': 256})
    lengths = self._config().lengths
    self.assertEqual((lengths.query_tokens, lengths.block_tokens), (128, 256))
    self.assertEqual(lengths.joint_tokens, 384)


if __name__ == '__main__':
  absltest.main()
