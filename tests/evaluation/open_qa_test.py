"""Tests for realm_tf.evaluation.open_qa."""

import json
import os

from absl.testing import absltest
import numpy as np

from realm_tf.answering import answerer
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import open_qa
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import answers

_TEXTS = ['Paris', 'Rome', 'K\u00f6ln']
_QUESTIONS = [
  questions_lib.Question('where', ('Rome',)),
  questions_lib.Question('what', ('Paris', 'X')),
  questions_lib.Question('who', ('K\u00f6ln',)),
]


def _retrieve(questions, k):
  """Blocks 0, 1, 2, whatever is asked; no block behind them."""
  row = [0, 1, 2, *[-1] * k][:k]
  return retriever_lib.Retrieved(
    np.array([row] * len(questions)), np.zeros([len(questions), k])
  )


def _read(questions, retrieved):
  """Answers with the text of the first block."""
  answered = []
  for question, ids in zip(questions, retrieved.block_ids):
    text = _TEXTS[ids[0]]
    evidence = answerer.Evidence(
      int(ids[0]), 'T', text, 0, len(text), text, 0.5, 2.5
    )
    answered.append(answerer.Answer(question, text, 2.5, [evidence]))
  return answered


def _lines(directory, name):
  with open(os.path.join(directory, name), encoding='utf-8') as file:
    return file.read().splitlines()


class OpenQaTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.matcher = answers.AnswerMatcher(lambda ids: [_TEXTS[i] for i in ids])
    self.output_dir = os.path.join(self.create_tempdir().full_path, 'new')

  def test_writes_predictions_and_metrics(self):
    qa = open_qa.OpenQa(self.matcher, _retrieve, _read, batch_size=2)
    metrics = qa.run(_QUESTIONS, [1, 2, 100], self.output_dir)

    # 'Paris' is right once of three times. Answers are in block 1, 0, 2.
    expected = {
      'num_questions': 3,
      'exact_match': 100 / 3,
      'f1': 100 / 3,
      'exact_match_one_block': 100 / 3,  # Here, only the first is read.
      'recall@1': 100 / 3,
      'recall@2': 200 / 3,
      'recall@100': 100.0,
    }
    self.assertEqual(metrics.keys(), expected.keys())
    for name, value in expected.items():
      self.assertAlmostEqual(metrics[name], value, msg=name)
    written = json.loads(''.join(_lines(self.output_dir, open_qa.METRICS)))
    self.assertEqual(written, metrics)

    predictions = [
      json.loads(line) for line in _lines(self.output_dir, open_qa.PREDICTIONS)
    ]
    self.assertEqual(
      [p['question'] for p in predictions], ['where', 'what', 'who']
    )
    self.assertEqual(
      predictions[0],
      {
        'question': 'where',
        'prediction': 'Paris',
        'score': 2.5,
        'evidence': [
          {
            'block_id': 0,
            'title': 'T',
            'text': 'Paris',
            'start': 0,
            'end': 5,
            'answer': 'Paris',
            'retrieval_probability': 0.5,
            'score': 2.5,
          }
        ],
      },
    )

  def test_one_block_is_the_first_and_not_the_best_read(self):
    def read(questions, retrieved):
      # The answer is in the second block; the first one says something else.
      (question,) = questions
      evidence = [
        answerer.Evidence(1, 'T', 'Paris', 0, 5, 'Paris', 0.5, 2.0),
        answerer.Evidence(0, 'T', 'Rome', 0, 4, 'Rome', 0.5, 1.0),
      ]
      return [answerer.Answer(question, 'Paris', 2.0, evidence)]

    qa = open_qa.OpenQa(self.matcher, _retrieve, read)
    question = questions_lib.Question('Where?', ('Paris',))
    metrics = qa.run([question], [1], self.output_dir)
    self.assertEqual(metrics['exact_match'], 100.0)
    self.assertEqual(metrics['exact_match_one_block'], 0.0)

  def test_finding_nothing_is_the_null_block_alone(self):
    found = open_qa.find_nothing(['a', 'b'], 2)
    self.assertEqual(found.block_ids.tolist(), [[-1, -1], [-1, -1]])
    self.assertTrue(np.isneginf(found.scores).all())

  def test_without_a_reader_measures_recall_only(self):
    qa = open_qa.OpenQa(self.matcher, _retrieve)
    metrics = qa.run(_QUESTIONS[:1], [1, 5], self.output_dir)
    self.assertEqual(
      metrics, {'num_questions': 1, 'recall@1': 0.0, 'recall@5': 100.0}
    )
    self.assertEqual(os.listdir(self.output_dir), [open_qa.METRICS])

  def test_reads_more_blocks_than_recall_asks_for(self):
    asked = []

    def retrieve(questions, k):
      asked.append(k)
      return _retrieve(questions, k)

    qa = open_qa.OpenQa(self.matcher, retrieve, _read, num_read=7)
    qa.run(_QUESTIONS, [1, 5], self.output_dir)
    self.assertEqual(asked, [7])


if __name__ == '__main__':
  absltest.main()
