"""Tests for realm_tf.qa.rankings."""

import dataclasses
import itertools
import math
import os

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.qa import open_qa
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import rankings
from realm_tf.text import answers
from tests import fakes
from tests import tiny

_QUESTIONS = [
  questions_lib.Question('who', ('A',), question_id='q1'),
  questions_lib.Question('what', ('B',), question_id='q2'),
]
# Blocks 0 and 3 are from one article. Two scores are equal.
_ARTICLES = ['x', 'y', 'z', 'x']
_OUTCOME = outcome_lib.Outcome(
  _QUESTIONS,
  np.array([[2, 0, 1, 3], [1, 2, -1, -1]]),
  np.array([[4.5, 3, 2, 1], [0.1, 0.1, -np.inf, -np.inf]], np.float32),
  np.zeros([2, 4], bool),
  None,
  [],
  np.ones(2),
)
_TENTH = float(np.float32(0.1))
_BELOW = float(np.nextafter(np.float32(0.1), np.float32(0)))
_RANKED = [[('z', 4.5), ('x', 3.0), ('y', 2.0)], [('y', _TENTH), ('z', _BELOW)]]


class _Table:
  """A fake `block_table.BlockTable`: each block is an article."""

  article_rows = np.arange(len(_ARTICLES))
  corpus_dir = 'corpus'

  def article_ids(self, ids):
    return [_ARTICLES[i] for i in ids]

  def all_article_ids(self):
    return _ARTICLES


class RankingsTest(absltest.TestCase):
  def _values(self, qrels, recall_at=(1, 2), outcome=_OUTCOME):
    """Returns the values of qrels, query -> article -> relevance."""
    lines = [
      f'{query} 0 {article} {grade}\n'
      for query, grades in qrels.items()
      for article, grade in grades.items()
    ]
    path = self.create_tempfile(content=''.join(lines)).full_path
    evaluate = rankings.Articles(
      path, None, outcome.questions, _Table(), recall_at
    )
    return {name: value.tolist() for name, value in evaluate(outcome)}

  def test_an_article_has_the_score_of_its_best_block(self):
    # The second of two equal scores is one float32 lower.
    found = rankings.rank_articles(_OUTCOME, _Table().article_ids)
    self.assertEqual(found, _RANKED)

  def test_metrics_match_hand_computation(self):
    qrels = {
      # Ranks 3 and 2; in the best order 1 and 2. z has no relevance.
      'q1': {'y': 2, 'x': 1, 'z': 0},
      # Relevant: the second article and an article that was not found.
      'q2': {'z': 1, 'x': 1},
      'other': {'x': 1},
    }
    found = self._values(qrels)
    log3 = math.log2(3)
    ndcg = [(1 / log3 + 2 / 2) / (2 + 1 / log3), (1 / log3) / (1 + 1 / log3)]
    np.testing.assert_allclose(found.pop('nDCG@10'), ndcg, rtol=1e-12)
    self.assertEqual(
      found, {'R@1': [0, 0], 'R@2': [0.5, 0.5], 'MRR@10': [0.5, 0.5]}
    )

  def test_no_relevant_or_no_found_article_counts_as_zero(self):
    found = self._values({'q1': {'x': 0}, 'q2': {'y': 1}})
    self.assertEqual(found['R@1'], [0, 1])
    self.assertEqual(found['nDCG@10'], [0, 1])
    nothing = outcome_lib.Outcome(
      _QUESTIONS, -np.ones([2, 1], int), np.full([2, 1], -np.inf),
      np.zeros([2, 1], bool), None, [], np.ones(2),
    )  # fmt: skip
    found = self._values({'q1': {'x': 1}, 'q2': {'y': 1}}, outcome=nothing)
    self.assertEqual(found['MRR@10'], [0, 0])

  def test_a_question_that_is_an_article_is_left_out_of_its_own_ranking(self):
    asked = [
      questions_lib.Question(name, (), question_id=name) for name in ('z', 'y')
    ]
    outcome = dataclasses.replace(_OUTCOME, questions=asked)
    with self.assertLogs(level='WARNING') as logs:
      found = self._values({'z': {'x': 1}, 'y': {'y': 1}}, outcome=outcome)
    self.assertEqual(found['R@1'], [1, 1])  # The qrels judge y by y.
    self.assertIn(
      "1 of 2 questions are articles of the same id, such as 'z'",
      logs.output[0],
    )

  def test_ids_must_differ_and_have_judgements(self):
    unnamed = [questions_lib.Question('q', ('a',))] * 2
    self.assertEqual(rankings.query_ids(unnamed), ['0', '1'])
    with self.assertRaisesRegex(errors.UserError, "different ids.*'q1' twice"):
      rankings.query_ids(_QUESTIONS + _QUESTIONS[:1])
    with self.assertRaisesRegex(errors.UserError, "'other' there, and 'q1'"):
      rankings.query_ids(_QUESTIONS, {'other': {'x': 1}})

  def test_a_trec_run(self):
    path = os.path.join(self.create_tempdir().full_path, 'new', 'file')
    evaluate = rankings.Articles(None, path, _QUESTIONS, _Table(), [1])
    self.assertEmpty(list(evaluate(_OUTCOME)))
    with open(path) as file:
      self.assertEqual(
        file.read().splitlines(),
        [
          'q1 Q0 z 1 4.5 realm_tf',
          'q1 Q0 x 2 3.0 realm_tf',
          'q1 Q0 y 3 2.0 realm_tf',
          f'q2 Q0 y 1 {_TENTH!r} realm_tf',
          f'q2 Q0 z 2 {_BELOW!r} realm_tf',
        ],
      )
    spaced = [questions_lib.Question('q', ('a',), question_id='a b')]
    with self.assertRaisesRegex(errors.UserError, "without spaces.*'a b'"):
      rankings.Articles(None, path, spaced, _Table(), [1])

  def test_ndcg_is_of_articles_whatever_recall_is_of(self):
    # Two sentences a block: the long article has 18 blocks, the short one one.
    pairs = itertools.product('abcdef', repeat=2)
    sentences = [f'{a.upper()} {b}.' for a, b in pairs]
    articles = [
      sources.Article('a', ' '.join(sentences), 'long'),
      sources.Article('b', 'F f f.', 'short'),
    ]
    folder = self.create_tempdir().full_path
    table = tiny.open_corpus(folder, articles)
    qrels = self.create_tempfile(content='q 0 short 1\n').full_path
    found = fakes.FakeRetriever(range(19), range(19, 0, -1))
    qa = open_qa.OpenQa(answers.AnswerMatcher(table.texts), found)
    asked = [
      questions_lib.Question('who', ('f f f',), question_id='q'),
      questions_lib.Question('when', (), is_impossible=True),  # Ranked, too.
    ]
    for recall_at in ([1, 5], [5, 10], [100]):
      metrics = qa.run(
        asked, recall_at, os.path.join(folder, 'eval'),
        articles=rankings.Articles(qrels, None, asked, table, recall_at),
      )  # fmt: skip
      # 18 blocks of the first article precede the second one.
      self.assertAlmostEqual(metrics['nDCG@10'], 100 / math.log2(3))
      self.assertEqual(metrics[f'R@{recall_at[-1]}'] > 0, recall_at[-1] > 1)
      self.assertEqual(metrics['num_with_qrels'], 1)
      self.assertEqual(len(metrics['intervals']['nDCG@10']), 2)


if __name__ == '__main__':
  absltest.main()
