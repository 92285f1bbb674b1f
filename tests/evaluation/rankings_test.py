"""Tests for realm_tf.evaluation.rankings and field_files."""

import dataclasses
import json
import math
import os

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.answering import answer as answer_lib
from realm_tf.corpus import json_records
from realm_tf.corpus import qrels as qrels_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import field_files
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import rankings
from realm_tf.evaluation import summary

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
  np.array([[True, False, False, True], [False] * 4]),
  None,
  [answer_lib.Answer('who', 'A', 1.0, []), answer_lib.Answer('', 'B', 1.0, [])],
  np.ones(2),
)
_TENTH = float(np.float32(0.1))
_BELOW = float(np.nextafter(np.float32(0.1), np.float32(0)))
_RANKED = [[('z', 4.5), ('x', 3.0), ('y', 2.0)], [('y', _TENTH), ('z', _BELOW)]]


def _article_ids(ids):
  return [_ARTICLES[i] for i in ids]


class _Table:
  """A fake `block_table.BlockTable`."""

  def article_ids(self, ids):
    return _article_ids(ids)

  def titles(self, ids):
    return [f'title {_ARTICLES[i]}' for i in ids]

  def texts(self, ids):
    return [f'text {i}' for i in ids]


def _measure(qrels, ids, ranked, recall_at=(1, 2)):
  metrics = {'intervals': {}}
  rankings.add_metrics(metrics, qrels, ids, ranked, recall_at)
  return metrics


class RankingsTest(absltest.TestCase):
  def test_an_article_has_the_score_of_its_best_block(self):
    # The second of two equal scores is one float32 lower.
    self.assertEqual(rankings.rank_articles(_OUTCOME, _article_ids), _RANKED)

  def test_metrics_match_hand_computation(self):
    qrels = {
      # Ranks 3 and 2; in the best order 1 and 2. z has no relevance.
      'q1': {'y': 2, 'x': 1, 'z': 0},
      # Relevant: the second article and an article that was not found.
      'q2': {'z': 1, 'w': 1},
      'other': {'x': 1},
    }
    metrics = _measure(qrels, ['q1', 'q2', 'not judged'], [*_RANKED, []])
    log3 = math.log2(3)
    ndcg = (1 / log3 + 2 / 2) / (2 + 1 / log3), (1 / log3) / (1 + 1 / log3)
    expected = {
      'num_with_qrels': 2,
      'R@1': 0.0,
      'R@2': 100 * (1 / 2 + 1 / 2) / 2,
      'MRR@10': 100 * (1 / 2 + 1 / 2) / 2,
      'nDCG@10': 100 * sum(ndcg) / 2,
    }
    ends = metrics.pop('intervals')
    self.assertEqual(metrics.keys(), expected.keys())
    for name, value in expected.items():
      self.assertAlmostEqual(metrics[name], value, 12, name)
    self.assertEqual(ends['R@2'], [50.0, 50.0])

  def test_ranks_above_ten_only_count_for_recall(self):
    ranking = [(f'd{i}', -float(i)) for i in range(1, 12)]
    metrics = _measure({'q': {'d11': 1}}, ['q'], [ranking], [10, 11])
    names = 'R@10', 'R@11', 'MRR@10', 'nDCG@10'
    self.assertEqual([metrics[n] for n in names], [0, 100, 0, 0])

  def test_no_relevant_article_counts_as_zero(self):
    metrics = _measure({'q1': {'x': 0}, 'q2': {'y': 1}}, ['q1', 'q2'], _RANKED)
    self.assertEqual((metrics['R@1'], metrics['nDCG@10']), (50, 50))

  def test_ids_must_differ_and_have_judgements(self):
    unnamed = [questions_lib.Question('q', ('a',))] * 2
    self.assertEqual(rankings.query_ids(unnamed), ['0', '1'])
    with self.assertRaisesRegex(errors.UserError, "different ids.*'q1' twice"):
      rankings.query_ids(_QUESTIONS + _QUESTIONS[:1])
    with self.assertRaisesRegex(errors.UserError, "'other' there, and 'q1'"):
      rankings.query_ids(_QUESTIONS, {'other': {'x': 1}})

  def test_questions_without_answers_have_no_answer_recall(self):
    asked = [question._replace(answers=()) for question in _QUESTIONS]
    outcome = dataclasses.replace(
      _OUTCOME, questions=asked, holds_answer=np.zeros([2, 4], bool), answers=()
    )
    metrics = summary.summarize(outcome, [1])
    self.assertNotIn('recall@1', metrics)
    self.assertEqual(metrics['intervals'], {})
    rankings.add_metrics(
      metrics, {'q1': {'x': 1}, 'q2': {'y': 1}}, ['q1', 'q2'], _RANKED, [2]
    )
    self.assertEqual(metrics['R@2'], 100)
    self.assertEqual(metrics['intervals']['R@2'], [100, 100])


class FieldFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._path = os.path.join(self.create_tempdir().full_path, 'new', 'file')

  def _text(self, path=None):
    with open(path or self._path, encoding='utf-8') as file:
      return file.read()

  def test_trec_run(self):
    field_files.write_trec_run(self._path, ['q1', 'q2'], _RANKED)
    self.assertEqual(
      self._text().splitlines(),
      [
        'q1 Q0 z 1 4.5 realm_tf',
        'q1 Q0 x 2 3.0 realm_tf',
        'q1 Q0 y 3 2.0 realm_tf',
        f'q2 Q0 y 1 {_TENTH!r} realm_tf',
        f'q2 Q0 z 2 {_BELOW!r} realm_tf',
      ],
    )
    with self.assertRaisesRegex(errors.UserError, "without spaces.*'a b'"):
      field_files.check_trec_ids(['q', 'a b'])

  def test_dpr_json_is_an_array_or_lines_and_can_be_read_as_questions(self):
    lines = self._path + '.jsonl'
    for path in (self._path, lines):
      field_files.write_dpr_json(path, ['q1', 'q2'], _OUTCOME, _Table())
    written = json.loads(self._text())
    self.assertEqual(
      written, [json.loads(line) for line in self._text(lines).splitlines()]
    )
    self.assertEqual([len(each['ctxs']) for each in written], [4, 2])
    fields = 'id', 'title', 'text', 'score', 'has_answer'
    expected = (
      ('2', 'title z', 'text 2', 4.5, True),
      ('0', 'title x', 'text 0', 3.0, False),
    )
    contexts = [dict(zip(fields, row, strict=True)) for row in expected]
    self.assertEqual(
      {**written[0], 'ctxs': written[0]['ctxs'][:2]},
      {'id': 'q1', 'question': 'who', 'answers': ['A'], 'ctxs': contexts},
    )
    self.assertEqual(
      [record for _, record in json_records.read(self._path)], written
    )
    self.assertEqual(questions_lib.read_questions(self._path), _QUESTIONS)

  def test_kilt(self):
    field_files.write_kilt(
      self._path, ['q1', 'q2'], _OUTCOME, _RANKED, _Table()
    )
    rows = [json.loads(line) for line in self._text().splitlines()]
    provenance = [
      {'wikipedia_id': 'y', 'title': 'title y'},
      {'wikipedia_id': 'z', 'title': 'title z'},
    ]
    output = [{'answer': 'B', 'provenance': provenance}]
    self.assertEqual(rows[1], {'id': 'q2', 'input': 'what', 'output': output})

  def test_ir_measures_finds_the_same_values(self):
    try:
      import ir_measures  # pylint: disable=g-import-not-at-top
    except ImportError:
      self.skipTest('ir-measures is not installed.')
    outcome, articles, qrels_text = _random_run(np.random.default_rng(0))
    ranked = rankings.rank_articles(outcome, lambda ids: articles[ids])
    ids = rankings.query_ids(outcome.questions)
    field_files.write_trec_run(self._path, ids, ranked)
    qrels_file = self.create_tempfile(content=qrels_text).full_path
    metrics = _measure(qrels_lib.read(qrels_file), ids, ranked, [1, 5, 20, 100])
    names = ['R@1', 'R@5', 'R@20', 'R@100', 'MRR@10', 'nDCG@10']
    measures = {
      name: ir_measures.parse_measure(name.replace('MRR', 'RR'))
      for name in names
    }
    theirs = ir_measures.calc_aggregate(
      measures.values(),
      ir_measures.read_trec_qrels(qrels_file),
      ir_measures.read_trec_run(self._path),
    )
    for name, measure in measures.items():
      self.assertBetween(metrics[name], 1, 99)
      self.assertAlmostEqual(metrics[name] / 100, theirs[measure], 9, name)


def _random_run(rng, num_questions=200, num_blocks=600):
  """Returns an outcome with many equal scores, articles and judgements."""
  articles = np.array([f'doc{i // 3}' for i in range(num_blocks)])
  block_ids = np.stack(
    [rng.permutation(num_blocks)[:100] for _ in range(num_questions)]
  )
  # Few distinct scores, best first; some rows are shorter.
  scores = -np.sort(rng.integers(-60, 60, block_ids.shape) / 7, axis=1)
  block_ids[::10, 50:] = -1
  questions = [
    questions_lib.Question('q', (), question_id=f'q{i}')
    for i in range(num_questions)
  ]
  lines = []
  for row, ids in enumerate(block_ids):
    if row % 7:  # Other questions have no judgement.
      judged = {articles[i] for i in [*ids[:9], *rng.integers(0, 600, 6)]}
      lines += [
        f'q{row} 0 {name} {rng.integers(0, 4) * (row % 5 > 0)}'
        for name in sorted(judged)
      ]
  outcome = outcome_lib.Outcome(
    questions, block_ids, scores, block_ids < 0, None, (), np.ones(1)
  )
  return outcome, articles, '\n'.join(lines) + '\n'


if __name__ == '__main__':
  absltest.main()
