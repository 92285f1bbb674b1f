"""Tests for realm_tf.model.token_tagger."""

from absl.testing import parameterized
import tensorflow as tf

from realm_tf.model import realm_model
from realm_tf.model import token_tagger
from realm_tf.model import weights
from tests import tiny

_CONFIG = realm_model.with_vocab_size(tiny.config().model, 12)
_HEAD = ['tagger_head/bias', 'tagger_head/kernel']


def _arrays(module):
  return weights.values(module.variables)


class TokenTaggerTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.tagger = token_tagger.TokenTagger(_CONFIG.reader_bert, 3)

  def test_scores_each_label_of_each_wordpiece(self):
    ids = tf.constant([[2, 5, 6, 3], [2, 7, 3, 0]])
    logits = self.tagger(tiny.tokens(ids))
    self.assertEqual(logits.shape, (2, 4, 3))
    self.assertEqual(logits.dtype, tf.float32)

  @parameterized.parameters(realm_model.MASKED_LM, realm_model.EMBEDDER)
  def test_starts_from_the_bert_of_a_model(self, part):
    arrays = _arrays(realm_model.RealmModel(_CONFIG, [part]))
    report = self.tagger.load(arrays)
    self.assertEqual(report.missing, _HEAD)
    tower = 'reader' if part == realm_model.MASKED_LM else 'query'
    for name, value in _arrays(self.tagger).items():
      if name not in _HEAD:
        self.assertAllEqual(value, arrays[name.replace('tagger_', f'{tower}_')])

  def test_a_saved_tagger_is_loaded_whole(self):
    other = token_tagger.TokenTagger(_CONFIG.reader_bert, 3)
    report = other.load(_arrays(self.tagger))
    self.assertEmpty(report.missing + report.left_over)
    self.assertAllClose(_arrays(other), _arrays(self.tagger))


if __name__ == '__main__':
  tf.test.main()
