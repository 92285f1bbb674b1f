"""Tests for realm_tf.qa.loading, with parts of two models."""

import os
import tempfile

from absl.testing import absltest
import numpy as np
import tf_keras

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import exact_search
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.qa import calibration
from realm_tf.qa import loading
from realm_tf.qa import outcome
from tests import fakes
from tests import tiny
from tests.serving import small_models

_QUESTIONS = ['a b ?', 'e f']


class LoadAnswererTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    one, cls.corpus = small_models.write_all(directory)
    two = os.path.join(directory, 'two')
    small_models.write(two, cls.corpus, seed=1)
    cls.models = one, two

  def _load(self, model_dir, **overrides):
    return loading.load_answerer(
      model_dir, self.corpus, choices=loading.Choices(**overrides)
    )

  def test_the_reader_of_another_model_reads_the_blocks(self):
    one, two = map(self._load, self.models)
    mixed = self._load(self.models[0], reader_dir=self.models[1])
    queries = mixed.queries(_QUESTIONS)
    retrieved, expected = (
      each.retriever.retrieve(queries, 4) for each in (mixed, one)
    )
    np.testing.assert_array_equal(retrieved.scores, expected.scores)
    # Table 2: blocks of one model, reader of the other.
    self.assertEqual(mixed.answer(_QUESTIONS), two.read(queries, retrieved))
    self.assertNotEqual(mixed.answer(_QUESTIONS), one.answer(_QUESTIONS))

  def test_a_calibration_is_of_a_model_and_a_readers_parameters(self):
    one, two = self.models
    loaded = loading.load(one, self.corpus)
    choices = loading.Choices(reader_dir=two, threshold=0.5)
    setting = loading.setting_of(choices, loaded.config.finetuning)
    fitted = calibration.Calibration(-1.0, 0.0, 0.0, 0.0, 0.4)
    calibration.write(fitted, setting, one)
    # All tests share the models.
    self.addCleanup(os.remove, os.path.join(one, calibration.NAME))

    again = self._load(one, reader_dir=two, threshold=0.5)
    self.assertEqual(again.confidence, calibration.Confidence(fitted, 0.5))
    for opened, reader in (
      (loaded, None),
      (loaded, one),
      (loading.load(two, self.corpus), None),
    ):
      found = loading.confidence_of(
        opened, loading.Choices(reader_dir=reader), loaded.config.finetuning
      )
      self.assertIsNone(found.calibration)

  def test_probabilities_of_a_real_reader_are_neither_0_nor_1(self):
    for answer_by in ('span', 'text'):
      answerer = self._load(self.models[0], answer_by=answer_by, num_read=3)
      self.assertEqual(answerer.finetuning.answer_by, answer_by)
      self.assertEqual(answerer.num_read, 3)
      self.assertEqual(answerer.num_compared, 4)  # The whole corpus.
      for answer in answerer.answer(_QUESTIONS):
        self.assertEqual(answer.prediction, answer.evidence[0].answer)
        self.assertLen(answer.evidence, 3)
        self.assertBetween(answer.probability, 0.01, 0.99)
        self.assertBetween(answer.null_probability, 0.01, 0.99)

  def test_systems_that_share_a_search_answer_as_each_alone(self):
    loaded = loading.load(self.models[0], self.corpus)
    weights = [0.0, 1.0, 0.0]
    sparse = lambda table: fakes.FakeRetriever([3, 0], [9.0, 5.0])
    answerers = loading.answerers_of(
      loaded, loading.DEFAULT_CHOICES, weights, sparse
    )
    for answerer, weight in zip(answerers, weights, strict=True):
      alone = loading.answerer_of(
        loaded, loading.Choices(sparse_weight=weight), sparse
      )
      for found, expected in zip(
        answerer.answer(_QUESTIONS), alone.answer(_QUESTIONS), strict=True
      ):
        self.assertEqual(found.prediction, expected.prediction)
        self.assertAlmostEqual(found.score, expected.score, 5)
        ids = [item.block_id for item in found.evidence]
        self.assertEqual(ids, [item.block_id for item in expected.evidence])


_TEXTS = ['a b ?', 'e f', 'd']


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
    embeddings = tiny.embeddings(self.table.num_blocks)
    searcher = exact_search.BruteForceSearcher(embeddings)
    self.index = storage.Index(0, '', embeddings, searcher, {})

  def _predictions(self):
    answerer = loading.over_model(
      self.model, self.index.searcher, self.table, tiny.TOKENIZER, self.config
    )
    return [answer.prediction for answer in answerer.answer(_TEXTS)]

  def _validator(self, answers):
    return loading.Validator(
      _questions(answers), self.table, tiny.TOKENIZER, self.config
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


if __name__ == '__main__':
  absltest.main()
