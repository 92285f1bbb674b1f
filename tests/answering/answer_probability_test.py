"""Tests the probabilities of an Answerer's answers."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.answering import answerer as answerer_lib
from realm_tf.objectives import exclusion
from tests import fakes

_TEXTS = ['Rome or Paris', 'a Rome', 'Oslo', '']
_WORDS = 'rome or paris a oslo who'
# exp of the reader's scores of single wordpieces; other spans have none.
_WEIGHTS = {'rome': 3.0, 'or': 1.0, 'paris': 4.0, 'a': 1.0, 'oslo': 2.0}


class AnswerProbabilityTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.tokenizer = fakes.tokenizer(_WORDS)

  def _read(self, question_ids, title_ids, body_ids, retrieval_scores):
    del question_ids, title_ids
    weights = [_WEIGHTS.get(word, 0) for word in self.tokenizer.vocabulary]
    with np.errstate(divide='ignore'):
      scores = np.maximum(np.log(weights), exclusion.NO_SCORE)[body_ids]
    return (scores + retrieval_scores[:, :, None])[..., None]

  def _answer(self, found, answer_by, num_read=2):
    """Answers from blocks with p(z|x) proportional to the values of `found`."""
    answerer = answerer_lib.Answerer(
      self.tokenizer,
      fakes.FakeTable(self.tokenizer, [''] * 4, _TEXTS),
      fakes.FakeRetriever(list(found), np.log(list(found.values()))),
      self._read,
      config_lib.LengthConfig(question_tokens=4),
      config_lib.FinetuningConfig(
        num_read=num_read, joint_tokens=24, answer_by=answer_by
      ),
    )
    return answerer.answer(['who'])[0]

  def test_the_best_span_and_the_best_text(self):
    # exp(g): 3, 1, 4 in block 0; 1, 3 in block 1. Sum: 12; Rome: 3 + 3 = 6.
    found = {0: 1.0, 1: 1.0}
    by_span = self._answer(found, 'span')
    self.assertEqual(by_span.prediction, 'Paris')
    self.assertAlmostEqual(by_span.probability, 4 / 12, places=6)
    self.assertEqual(
      [item.answer for item in by_span.evidence], ['Paris', 'Rome']
    )
    by_text = self._answer(found, 'text')
    self.assertEqual(by_text.prediction, 'Rome')
    self.assertAlmostEqual(by_text.probability, 6 / 12, places=6)
    self.assertAlmostEqual(by_text.score, np.log(6), places=6)
    self.assertEqual([item.answer for item in by_text.evidence], ['Rome'] * 2)
    # The first block alone gives another answer.
    self.assertEqual(
      [item.block_answer for item in by_text.evidence], ['Paris', 'Rome']
    )

  @parameterized.parameters('span', 'text')
  def test_retrieval_scores_weigh_the_spans(self, answer_by):
    # exp(g): 3, 1, 4 in block 0; 9 * (1, 3) in block 1. Sum: 44.
    answer = self._answer({1: 9.0, 0: 1.0}, answer_by)
    self.assertEqual(answer.prediction, 'Rome')
    self.assertAlmostEqual(answer.probability, 30 / 44, places=6)

  def test_the_null_probability_is_p_of_blocks_that_are_not_read(self):
    # p(z|x) = 5/8, 1/8, 2/8; the first two blocks are read.
    answer = self._answer({0: 5.0, 1: 1.0, 2: 2.0}, 'span')
    self.assertAlmostEqual(answer.null_probability, 2 / 8, places=6)
    whole = self._answer({0: 5.0, 1: 1.0, 2: 2.0}, 'span', num_read=3)
    self.assertAlmostEqual(whole.null_probability, 0, places=6)

  @parameterized.parameters(-1, 3)
  def test_null_blocks_and_empty_blocks_have_no_span(self, empty):
    answer = self._answer({empty: 3.0, 0: 1.0}, 'span')
    self.assertAlmostEqual(answer.null_probability, 3 / 4, places=6)
    # A block without spans has no part in the softmax over spans.
    self.assertAlmostEqual(answer.probability, 4 / 8, places=6)

  def test_nothing_to_read(self):
    answer = self._answer({-1: 1.0}, 'text')
    self.assertEqual(
      (answer.prediction, answer.probability, answer.null_probability),
      ('', 0.0, 1.0),
    )


if __name__ == '__main__':
  absltest.main()
