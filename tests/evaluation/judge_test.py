"""Tests for realm_tf.evaluation.judge."""

from absl.testing import absltest
import numpy as np

from realm_tf.answering import loading
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import exact_match
from realm_tf.evaluation import judge
from realm_tf.index import brute_force
from realm_tf.index import searcher as searcher_lib
from realm_tf.index import storage
from realm_tf.modeling import realm_model
from tests import tiny

_TEXTS = ['a b ?', 'e f', 'd']


def _index(embeddings):
  searcher = brute_force.BruteForceSearcher(embeddings)
  return storage.Index(0, '', embeddings, searcher, {})


def _questions(answers):
  return [
    questions_lib.Question(text, (answer,))
    for text, answer in zip(_TEXTS, answers, strict=True)
  ]


class JudgeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
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

  def _judge(self, answers, retrieve=None):
    return judge.Judge(
      _questions(answers), self.table, tiny.TOKENIZER, self.config, retrieve
    )

  def test_measures_what_the_model_answers_as_it_is_now(self):
    first, second, third = self._predictions()
    judged = self._judge([first, 'no such answer', third])
    self.assertAlmostEqual(judged(self.model, self.index), 100 * 2 / 3)
    for variable in self.model.span_reader.trainable_variables:
      variable.assign(-variable)  # The best spans are the worst ones now.
    worst = exact_match.measure(
      self._predictions(), _questions([first, 'no such answer', third])
    )
    self.assertLess(worst.exact_match, 50)
    self.assertAlmostEqual(judged(self.model, self.index), worst.exact_match)

  def test_another_index_finds_other_blocks(self):
    judged = self._judge(self._predictions())
    self.assertEqual(judged(self.model, self.index), 100)
    self.index = _index(-self.index.embeddings)
    expected = self._judge(self._predictions())
    self.assertEqual(expected(self.model, self.index), 100)
    self.assertLess(judged(self.model, self.index), 100)

  def test_blocks_may_be_found_by_something_else(self):
    asked = []

    def retrieve(texts, k):
      asked.append(list(texts))
      shape = [len(texts), k]
      return searcher_lib.Neighbors(
        np.full(shape, -1, np.int32), np.full(shape, -np.inf, np.float32)
      )

    judged = self._judge('bcd', retrieve)
    self.assertEqual(judged(self.model, self.index), 0)  # Nothing to read.
    self.assertEqual(asked, [_TEXTS])


if __name__ == '__main__':
  absltest.main()
