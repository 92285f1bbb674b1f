"""Tests the probabilities of an Answerer's answers."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf import interfaces
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import calibration
from tests import fakes

_TEXTS = ['Rome or Paris', 'a Rome', 'Oslo', '']
_WORDS = 'rome or paris a oslo who'
# exp of the reader's scores of single wordpieces; other spans have none.
_WEIGHTS = {'rome': 3.0, 'or': 1.0, 'paris': 4.0, 'a': 1.0, 'oslo': 2.0}


class AnswerProbabilityTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.tokenizer = fakes.tokenizer(_WORDS)
    self.null, self.confidence = interfaces.NO_SCORE, calibration.Confidence()

  def _read(self, question_ids, title_ids, body_ids, retrieval_scores):
    del question_ids, title_ids
    weights = [_WEIGHTS.get(word, 0) for word in self.tokenizer.vocabulary]
    with np.errstate(divide='ignore'):
      scores = np.maximum(np.log(weights), interfaces.NO_SCORE)[body_ids]
    return interfaces.Scores(
      (scores + retrieval_scores[:, :, None])[..., None],
      self.null + retrieval_scores,
    )

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
      self.confidence,
    )
    return answerer.answer(['who'])[0]

  def test_the_best_span_and_the_best_text(self):
    # exp(g): 3, 1, 4 in block 0; 1, 3 in block 1. Sum: 12; Rome: 3 + 3 = 6.
    found = {0: 1.0, 1: 1.0}
    by_span = self._answer(found, 'span')
    self.assertEqual(by_span.prediction, 'Paris')
    self.assertAlmostEqual(by_span.probability, 4 / 12, places=5)
    self.assertEqual(
      [item.answer for item in by_span.evidence], ['Paris', 'Rome']
    )
    by_text = self._answer(found, 'text')
    self.assertEqual(by_text.prediction, 'Rome')
    self.assertAlmostEqual(by_text.probability, 6 / 12, places=5)
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
    self.assertAlmostEqual(answer.probability, 30 / 44, places=5)

  def test_the_null_probability_is_p_of_blocks_that_are_not_read(self):
    # p(z|x) = 5/8, 1/8, 2/8; the first two blocks are read.
    answer = self._answer({0: 5.0, 1: 1.0, 2: 2.0}, 'span')
    self.assertAlmostEqual(answer.null_probability, 2 / 8, places=6)
    whole = self._answer({0: 5.0, 1: 1.0, 2: 2.0}, 'span', num_read=3)
    self.assertAlmostEqual(whole.null_probability, 0, places=6)
    # Paris is 4/8 * 5 of 8 * 5/8 + 4 * 1/8, exp(g) of both blocks.
    self.assertAlmostEqual(answer.probability, 20 / 44 * 6 / 8, places=5)

  def test_null_spans_of_all_blocks_count(self):
    self.null = np.log(2.0)
    # exp(g) of the spans: 3, 1, 4 in block 0, 3 * (1, 3) in block 1; of the
    # null spans, 2 and 3 * 2. Sum: 28.
    answer = self._answer({1: 3.0, 0: 1.0}, 'span')
    self.assertEqual(answer.prediction, 'Rome')
    self.assertAlmostEqual(answer.probability, 12 / 28, places=5)
    self.assertFalse(answer.is_refused)

  @parameterized.parameters((17.9, False), (18.1, True))
  def test_null_spans_refuse_if_three_times_as_probable(self, null, expected):
    # exp(g) of the spans is 12; two null spans.
    self.null = np.log(null)
    for answer_by in ('span', 'text'):
      answer = self._answer({0: 1.0, 1: 1.0}, answer_by)
      self.assertEqual(answer.is_refused, expected)

  def test_an_improbable_answer_is_refused_with_the_best_guess(self):
    self.confidence = calibration.Confidence(threshold=0.4)
    refused = self._answer({0: 1.0, 1: 1.0}, 'span')
    self.assertTrue(refused.is_refused)
    self.assertEqual(refused.prediction, 'Paris')
    guess = 'The corpus does not seem to say. Best guess: '
    self.assertIn(f'\n  {guess}Paris  (33.3%)', refused.as_text())
    self.assertIn(f'{guess}<b>Paris</b>', refused._repr_html_())
    given = self._answer({0: 1.0, 1: 1.0}, 'text')  # Rome, 1/2.
    self.assertFalse(given.is_refused)
    self.assertNotIn('guess', given.as_text() + given._repr_html_())

  def test_a_calibration_takes_the_place_of_the_product(self):
    fitted = calibration.Calibration(-1.0, 0.0, 0.0, 0.0, 0.0)
    self.confidence = calibration.Confidence(fitted)
    answer = self._answer({0: 1.0, 1: 1.0}, 'span')
    self.assertAlmostEqual(answer.probability, 1 / (1 + np.e), places=5)
    # Paris is 4 of 12, and both blocks are read.
    self.assertAlmostEqual(answer.signals.text, np.log(4 / 8), places=4)
    self.assertLess(answer.signals.unread_share, 1e-5)
    self.assertEqual(answer.signals.null, -14)

  @parameterized.parameters(-1, 3)
  def test_null_blocks_and_empty_blocks_have_no_span(self, empty):
    answer = self._answer({empty: 3.0, 0: 1.0}, 'span')
    self.assertAlmostEqual(answer.null_probability, 3 / 4, places=6)
    # A block without spans has no part in the softmax over spans.
    self.assertAlmostEqual(answer.probability, 4 / 8 * 1 / 4, places=5)


if __name__ == '__main__':
  absltest.main()
