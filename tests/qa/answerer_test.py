"""Tests for realm_tf.qa.answerer."""

import dataclasses
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import calibration
from tests import fakes

_TITLES = ['Emigrant', 'Berlin', 'Nothing']
_TEXTS = ['He left the  U.S. in 1990.', 'In Berlin, K\u00f6ln won.', 'the']
_WORDS = 'he left the u s in 1990 . berlin , koln won who when ?'
# Wordpieces of block 0: he left the u . s . in 1990 .
_US = (3, 4)
# Wordpieces of block 1: in berlin , koln won .
_KOLN = (3, 1)


class AnswererTest(absltest.TestCase):
  def _answerer(self, retriever, num_read=2, eval_batch_size=4):
    tokenizer = fakes.tokenizer(_WORDS)
    first_id = lambda text: int(tokenizer.tokenize(text).ids[0])
    reader = fakes.FakeReader(
      {first_id('he'): (*_US, 5.0), first_id('in'): (*_KOLN, 7.0)}, max_width=4
    )
    return answerer_lib.Answerer(
      tokenizer,
      fakes.FakeTable(tokenizer, _TITLES, _TEXTS),
      retriever,
      reader,
      config_lib.LengthConfig(question_tokens=4),
      config_lib.FinetuningConfig(
        num_read=num_read, joint_tokens=24, eval_batch_size=eval_batch_size
      ),
    )

  def test_answers_are_cut_from_the_text_as_written(self):
    # Span scores: 5 + ln 3 = 6.1 for block 0, 7 + ln 1 = 7 for block 1.
    retriever = fakes.FakeRetriever([0, 1], [np.log(3), 0.0])
    (answer,) = self._answerer(retriever).answer(['Who?'])

    self.assertEqual(answer.prediction, 'K\u00f6ln')
    self.assertAlmostEqual(answer.score, 7.0, places=5)
    self.assertEqual([e.block_id for e in answer.evidence], [1, 0])
    self.assertEqual([e.answer for e in answer.evidence], ['K\u00f6ln', 'U.S.'])
    self.assertEqual([e.title for e in answer.evidence], _TITLES[1::-1])
    for evidence in answer.evidence:
      self.assertEqual(
        evidence.text[evidence.start : evidence.end], evidence.answer
      )
    # softmax of [ln 3, 0] is [3/4, 1/4].
    shares = [e.retrieval_probability for e in answer.evidence]
    np.testing.assert_allclose(shares, [1 / 4, 3 / 4], rtol=1e-6)

  def test_batches_do_not_change_answers(self):
    questions = ['Who?', 'When ?', 'who in Berlin won ?', '', 'he']
    ask = self._answerer(fakes.FakeRetriever([1, 0], [1.0, 0.5])).answer
    for question, answer in zip(questions, ask(questions), strict=True):
      self.assertEqual([answer], ask([question]))

  def test_long_questions_are_cut_for_the_search_and_more_for_the_reader(self):
    retriever = fakes.FakeRetriever([0, 1], [0.0, 0.0])
    answerer = self._answerer(retriever)
    read = mock.Mock(side_effect=answerer.reader)
    lengths = config_lib.LengthConfig(query_tokens=7, question_tokens=4)
    answerer = dataclasses.replace(answerer, lengths=lengths, reader=read)
    answerer.answer(['who', 'he left in 1990 , who ?'])

    searched, given = retriever.asked[0], read.call_args.args[0]
    self.assertEqual(np.count_nonzero(searched, axis=1).tolist(), [1, 5])
    np.testing.assert_array_equal(given, searched[:, :4])

  def test_no_block_and_no_span_give_no_evidence(self):
    # The reader finds no span in block 2; -1 is no block.
    retriever = fakes.FakeRetriever([2, -1], [0.0, -np.inf])
    (answer,) = self._answerer(retriever).answer(['who'])
    self.assertEqual(answer, answer_lib.Answer('who', '', None, [], 0.0, 1.0))
    careful = dataclasses.replace(
      self._answerer(retriever), confidence=calibration.Confidence(None, 0.1)
    )
    self.assertTrue(careful.answer(['who'])[0].is_refused)

  def test_json_form_is_the_contract(self):
    retriever = fakes.FakeRetriever([0], [0.0])
    (answer,) = self._answerer(retriever, num_read=1).answer(['Who?'])
    # The reader finds no other span, and the retriever no other block.
    self.assertAlmostEqual(answer.probability, 1.0, places=4)
    self.assertEqual(
      answer._replace(probability=1.0).as_json(),
      {
        'question': 'Who?',
        'prediction': 'U.S.',
        'score': 5.0,
        'evidence': [
          {
            'block_id': 0,
            'title': 'Emigrant',
            'text': _TEXTS[0],
            'start': 13,
            'end': 17,
            'answer': 'U.S.',
            'retrieval_probability': 1.0,
            'score': 5.0,
            'block_answer': 'U.S.',
            'reading_probability': 1.0,
            'article_id': 'article 0',
          }
        ],
        'probability': 1.0,
        'null_probability': 0.0,
        'is_refused': False,
      },
    )


if __name__ == '__main__':
  absltest.main()
