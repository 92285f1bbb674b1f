"""Tests for realm_tf.qa.validation."""

from absl.testing import absltest
import tf_keras

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import exact_search
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.qa import loading
from realm_tf.qa import outcome
from realm_tf.qa import validation
from realm_tf.retrieval import retriever
from tests import tiny

_TEXTS = ['a b ?', 'e f', 'd']


def _index(embeddings):
  searcher = exact_search.BruteForceSearcher(embeddings)
  return storage.Index(0, '', embeddings, searcher, {})


def _questions(answers):
  return [
    questions_lib.Question(text, (answer,))
    for text, answer in zip(_TEXTS, answers, strict=True)
  ]


class ValidatorTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    # Otherwise the weights depend on earlier tests in the same process.
    tf_keras.utils.set_random_seed(1)
    self.table = tiny.open_corpus(self.create_tempdir().full_path)
    self.config = tiny.config()
    self.model = realm_model.RealmModel(
      realm_model.with_vocab_size(self.config.model, tiny.TOKENIZER.vocab_size),
      [realm_model.EMBEDDER, realm_model.SPAN],
    )
    self.index = _index(tiny.embeddings(self.table.num_blocks))

  def _predictions(self):
    answerer = loading.over_model(
      self.model, self.index.searcher, self.table, tiny.TOKENIZER, self.config
    )
    return [answer.prediction for answer in answerer.answer(_TEXTS)]

  def _validator(self, answers, retriever=None):
    return validation.Validator(
      _questions(answers), self.table, tiny.TOKENIZER, self.config, retriever
    )

  def test_measures_with_the_current_variables(self):
    first, second, third = self._predictions()
    validate = self._validator([first, 'no such answer', third])
    self.assertAlmostEqual(validate(self.model, self.index), 100 * 2 / 3)
    for variable in self.model.span_reader.trainable_variables:
      variable.assign(-variable)  # Reverses the order of spans.
    worst = outcome.quality(
      self._predictions(), _questions([first, 'no such answer', third])
    ).exact.mean()
    self.assertLess(worst, 0.5)
    self.assertAlmostEqual(validate(self.model, self.index), 100 * worst)

  def test_another_index_finds_other_blocks(self):
    validate = self._validator(self._predictions())
    self.assertEqual(validate(self.model, self.index), 100)
    self.index = _index(-self.index.embeddings)
    expected = self._validator(self._predictions())
    self.assertEqual(expected(self.model, self.index), 100)
    self.assertLess(validate(self.model, self.index), 100)

  def test_another_retriever_can_find_the_blocks(self):
    validate = self._validator('bcd', retriever.Nothing())
    self.assertEqual(validate(self.model, self.index), 0)  # No block to read.


if __name__ == '__main__':
  absltest.main()
