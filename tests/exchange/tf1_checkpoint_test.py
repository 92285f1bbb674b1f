"""Tests for realm_tf.exchange.tf1_checkpoint."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.exchange import hugging_face_names
from realm_tf.exchange import imported
from realm_tf.exchange import tf1_checkpoint
from realm_tf.model import realm_model
from tests.exchange import tf1_release

_GIVEN = imported.Given(num_heads=tf1_release.NUM_HEADS)


class Tf1CheckpointTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.rng = np.random.default_rng(0)

  def _save(self, name, values):
    return tf1_release.save(os.path.join(self.directory, name), values)

  def _assert_refused(self, source, message, given=_GIVEN):
    with self.assertRaisesRegex(errors.UserError, message):
      tf1_checkpoint.load(source, given)

  @parameterized.parameters(*tf1_release.EMBEDDERS)
  def test_all_prefixes_of_the_embedder_are_known(self, kind):
    values = tf1_release.embedder(self.rng, kind)
    found = tf1_checkpoint.load(self._save('m/variables', values), _GIVEN)
    self.assertEmpty(found.report.left_over)
    self.assertEmpty(found.report.missing)
    embedder = found.model.embedder
    self.assertEqual((embedder.head, embedder.embedding_size), ('pooled', 4))
    self.assertTrue(embedder.shared_towers)
    self.assertEqual(embedder.layer_norm_epsilon, 1e-12)
    head = tf1_release.EMBEDDERS[kind][0]
    np.testing.assert_array_equal(
      found.arrays['shared_embedder/projection/kernel'],
      values[f'{head}dense/kernel'],
    )
    model = realm_model.RealmModel(found.model, [realm_model.EMBEDDER])
    self.assertEmpty(model.load(found.arrays).missing)

  def test_a_qa_model_has_a_separate_tower_for_queries(self):
    tuned = tf1_release.embedder(self.rng, 'fine_tuned')
    frozen = tf1_release.embedder(self.rng)
    reader = tf1_release.qa_reader(self.rng)
    qa = self._save('qa/model.ckpt-7', tuned | reader)
    embedder = self._save('embedder/variables/variables', frozen)
    found = tf1_checkpoint.load(f'{qa},{embedder}', _GIVEN)
    for tower, head, values in (
      ('query', 'module/module/module/', tuned),
      ('block', 'module/module/', frozen),
    ):
      np.testing.assert_array_equal(
        found.arrays[f'{tower}_embedder/layer_norm/gamma'],
        values[f'{head}LayerNorm/gamma'],
      )
    self.assertFalse(found.model.embedder.shared_towers)
    self.assertEqual(found.model.span_hidden_size, tf1_release.SPAN)
    self.assertEmpty(found.report.left_over)  # Optimizer slots are ignored.
    parts = [realm_model.EMBEDDER, realm_model.SPAN]
    model = realm_model.RealmModel(found.model, parts)
    self.assertEmpty(model.load(found.arrays).missing)

  def test_a_plain_bert_starts_everything(self):
    theirs, values = tf1_release.bert(self.rng)
    values |= tf1_release.masked_lm(self.rng)
    values['cls/seq_relationship/output_weights'] = np.zeros([2, 6], np.float32)
    found = tf1_checkpoint.load(self._save('bert_model.ckpt', values), _GIVEN)
    self.assertEqual(
      found.report.left_over, ['cls/seq_relationship/output_weights']
    )
    np.testing.assert_array_equal(
      found.arrays['shared_bert/word_embeddings/embeddings'],
      found.arrays['reader_bert/word_embeddings/embeddings'],
    )
    # The same as of Hugging Face's names, which tests/parity compares.
    expected, _ = hugging_face_names.convert(
      theirs, found.model.reader_bert, hugging_face_names.BERT_ROLES
    )
    for name, value in expected.items():
      np.testing.assert_array_equal(found.arrays[name], value, name)
    model = realm_model.RealmModel(found.model, [realm_model.MASKED_LM])
    self.assertEmpty(model.load(found.arrays).missing)

  def test_a_directory_is_searched_and_the_newest_step_counts(self):
    old = tf1_release.embedder(self.rng)
    new = tf1_release.embedder(self.rng)
    self._save('a/model.ckpt-9', old)
    self._save('a/model.ckpt-10', new)
    self._save('b/bert', tf1_release.bert(self.rng)[1])
    self._save('b/encoded.ckpt', {'block_emb': np.ones([3, 4], np.float32)})
    tf1_release.write_blocks(self.directory + '/blocks.tfr', ['a', 'b', 'c'])
    os.mkdir(self.directory + '/assets')
    with open(self.directory + '/assets/vocab.txt', 'w') as file:
      file.write('[PAD]\n')
    found = tf1_checkpoint.load(self.directory, _GIVEN)
    np.testing.assert_array_equal(
      found.arrays['shared_embedder/projection/bias'],
      new['module/module/dense/bias'],
    )
    np.testing.assert_array_equal(found.embeddings[1:9], np.ones([2, 4]))
    self.assertEndsWith(found.blocks_file, 'blocks.tfr')
    self.assertEndsWith(found.vocab_file, 'assets/vocab.txt')

  def test_heads_are_64_wide_by_default(self):
    source = self._save('m/model', tf1_release.embedder(self.rng))
    self._assert_refused(source, 'Give --num_heads', imported.NOTHING)

  def test_refuses_missing_files(self):
    self._assert_refused(self.directory + '/none', r'none\.index')
    self._assert_refused(self.directory, r'a file \*\.index')
    self._assert_refused(
      self._save('other', {'x': np.zeros(3, np.float32)}), 'a BERT encoder'
    )

  def test_refuses_incomplete_encoders_and_other_sizes(self):
    layer = 'module/module/module/bert/encoder/layer_'
    wide = np.zeros([6, 7], np.float32)
    for name, value, message in (
      (f'{layer}0/output/dense/kernel', None, 'It lacks 1 values'),
      ('module/module/LayerNorm/gamma', None, 'It lacks 1 values'),
      (f'{layer}1/attention/self/key/kernel', wide, 'must fit'),
    ):
      values = tf1_release.embedder(self.rng)
      self.assertIn(name, values)
      values[name] = value
      if value is None:
        del values[name]
      self._assert_refused(self._save('m/model', values), message)

  def test_refuses_the_same_part_twice(self):
    for name in ('a', 'b'):
      self._save(f'{name}/model', tf1_release.embedder(self.rng))
    self._assert_refused(
      self.directory, 'one embedder. Found .*/a/model and .*/b/model'
    )

  @parameterized.parameters(('m/model', 1000), ('encoded', 100))
  def test_refuses_cut_off_files(self, name, size):
    rows = {'block_emb': np.zeros([9, 4], np.float32)}
    self._save('m/model', tf1_release.embedder(self.rng))
    self._save('encoded', rows)
    path = os.path.join(self.directory, name) + '.data-00000-of-00001'
    with open(path, 'r+b') as file:
      file.truncate(size)
    self._assert_refused(self.directory, 'must be a whole checkpoint')


class Tf1NamesTest(absltest.TestCase):
  def test_a_prefix_is_not_matched_inside_a_name(self):
    names, left_over = tf1_checkpoint.recognize(
      [
        'module_1/dense/kernel',
        'module_1/module/bert/pooler/dense/bias',
        'bert/pooler/dense/bias',
        'AdamWeightDecayOptimizer/x',
        'block_emb',
        'something/else',
      ],
      'here',
    )
    self.assertEqual(
      names,
      {
        'embedder': {
          'cls.dense.weight': 'module_1/dense/kernel',
          'pooler.dense.bias': 'module_1/module/bert/pooler/dense/bias',
        },
        'reader': {'pooler.dense.bias': 'bert/pooler/dense/bias'},
        'index': {'block_emb': 'block_emb'},
      },
    )
    self.assertEqual(left_over, ['something/else'])


if __name__ == '__main__':
  absltest.main()
