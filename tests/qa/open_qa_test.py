"""Tests for realm_tf.qa.open_qa and outcome."""

import itertools
import json
import os
import pathlib

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.index import model_files
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import open_qa
from realm_tf.qa import outcome
from realm_tf.qa import summary
from realm_tf.retrieval import retriever
from realm_tf.run import layout
from realm_tf.text import answers
from tests import fakes
from tests import tiny

_TEXTS = ['Paris', 'Rome', 'K\u00f6ln']
_QUESTIONS = [
  questions_lib.Question('where', ('Rome',), question_id='x'),
  questions_lib.Question('what', ('Paris', 'X'), gold_id='article 2'),
  questions_lib.Question('who', ('K\u00f6ln',), gold_id='article 0'),
]


def _first_three():
  """Finds blocks 0, 1 and 2 for every question."""
  return fakes.FakeRetriever([0, 1, 2], [0.0, 0.0, 0.0])


def _evidence(block_id, answer, block_answer=None):
  own = block_answer or answer
  return answer_lib.Evidence(
    block_id, 'T', answer, 0, len(answer), answer, 0.5, 2.5, own
  )


def _read(queries, retrieved):
  """Answers with the text of the first block."""
  return [
    answer_lib.Answer(
      question, _TEXTS[ids[0]], 2.5, [_evidence(int(ids[0]), _TEXTS[ids[0]])],
      0.5, 0.25,
    )
    for question, ids in zip(queries.texts, retrieved.block_ids)
  ]  # fmt: skip


def _rows(directory, name):
  return tiny.read_rows(os.path.join(directory, name))


class _Articles:
  """An evaluator that keeps the outcome."""

  num_blocks = 0

  def __call__(self, outcome):
    self.seen = outcome
    return {'nDCG@10': np.ones(2)}.items()


class OpenQaTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.matcher = answers.AnswerMatcher(lambda ids: [_TEXTS[i] for i in ids])
    self.output_dir = os.path.join(self.create_tempdir().full_path, 'new')

  def _qa(self, read=_read, **changes):
    return open_qa.OpenQa(self.matcher, _first_three(), read=read, **changes)

  def test_metrics_match_hand_computation(self):
    qa = self._qa(batch_size=2)
    metrics = qa.run(_QUESTIONS, [1, 2, 100], self.output_dir)

    # 'Paris' is right for one of three questions. Answers: blocks 1, 0, 2.
    expected = {
      'num_questions': 3,
      'exact_match': 100 / 3,
      'f1': 100 / 3,
      'exact_match_one_block': 100 / 3,  # `_read` reads only the first block.
      'reader_oracle': 100 / 3,
      'recall@1': 100 / 3,
      'recall@2': 200 / 3,
      'recall@100': 100.0,
      'reranked_recall@100': 100 / 3,
      'exact_match_answered': 100 / 3,  # And others of `refusing`.
      'latency_batch_size': 2,
    }
    for name, value in expected.items():
      self.assertAlmostEqual(metrics[name], value, msg=name)
    self.assertNotIn('gold_recall@1', metrics)  # No article ids.
    for name, (low, high) in metrics['intervals'].items():
      self.assertBetween(metrics[name], low, high, name)
    self.assertIn('recall@100', metrics['intervals'])
    names = 'exact_match', 'f1', 'recall@1', 'recall@2', 'recall@100'
    self.assertEqual(
      metrics['categories']['wh_word']['what'],
      {'num_questions': 1, **dict.fromkeys(names, 100.0)},
    )
    # The caller writes them together with the metrics of masked sentences.
    path = os.path.join(self.output_dir, summary.METRICS)
    self.assertFalse(os.path.exists(path))
    open_qa.write_metrics(metrics, self.output_dir)
    self.assertEqual(json.loads(pathlib.Path(path).read_text()), metrics)

  def test_forgets_an_earlier_evaluation_but_no_other_file(self):
    self._qa().run(_QUESTIONS, [1], self.output_dir)
    metrics = {'span_ranks': [1], 'num_sentences': 1}
    open_qa.write_metrics(metrics, self.output_dir)
    path = pathlib.Path(self.output_dir)
    (path / 'config.json').write_text('{}')
    self.assertLen(list(path.iterdir()), 5)
    open_qa.forget(self.output_dir)
    self.assertEqual([each.name for each in path.iterdir()], ['config.json'])

  def test_impossible_questions_count_for_refusing_only(self):
    impossible = questions_lib.Question('when', (), is_impossible=True)
    metrics = self._qa().run([*_QUESTIONS, impossible], [1], self.output_dir)
    self.assertEqual(metrics['num_questions'], 4)
    self.assertEqual(metrics['num_impossible'], 1)
    self.assertAlmostEqual(metrics['exact_match'], 100 / 3)
    self.assertAlmostEqual(metrics['recall@1'], 100 / 3)
    self.assertAlmostEqual(metrics['exact_match_answered'], 100 / 4)
    self.assertEqual(metrics['auroc'], 50.0)  # Equal probabilities.
    self.assertEqual(
      _rows(self.output_dir, summary.RISK_COVERAGE),
      [{'coverage': 0.0, 'risk': 0.75}, {'coverage': 1.0, 'risk': 0.75}],
    )
    alone = os.path.join(self.output_dir, 'alone')
    metrics = self._qa().run([impossible], [1], alone)
    self.assertEqual(metrics['refused_impossible'], 0.0)
    self.assertNotIn('exact_match', metrics)
    dirs = {'all': self.output_dir, 'alone': alone}
    open_qa.write_together(dirs, self.output_dir)
    path = pathlib.Path(self.output_dir, summary.METRICS)
    together = json.loads(path.read_text())
    self.assertEqual(together['num_questions'], 5)
    self.assertEqual(together['sets']['alone']['auroc'], 50.0)

  def test_predictions_have_answers_and_references(self):
    qa = self._qa()
    qa.run(_QUESTIONS, [2], self.output_dir)
    rows = _rows(self.output_dir, summary.PREDICTIONS)
    asked = [row['question'] for row in rows]
    self.assertEqual(asked, ['where', 'what', 'who'])
    self.assertEqual([row['answer_rank'] for row in rows], [2, 1, None])
    queries = retriever.of_texts(['where'])
    (answer,) = _read(queries, _first_three().retrieve(queries, 2))
    self.assertEqual(
      rows[0],
      {
        **answer.as_json(),
        'id': 'x',
        'answers': ['Rome'],
        'regex': False,
        'is_impossible': False,
        'exact_match': False,
        'f1': 0.0,
        'answer_rank': 2,
      },
    )

  def test_gold_recall_counts_questions_with_a_gold_id(self):
    qa = self._qa(read_article_ids=lambda ids: [f'article {i}' for i in ids])
    metrics = qa.run(_QUESTIONS, [1, 3], self.output_dir)
    self.assertEqual(metrics['num_with_gold_id'], 2)
    # Article 2 is third, article 0 is first.
    self.assertEqual(metrics['gold_recall@1'], 50.0)
    self.assertEqual(metrics['gold_recall@3'], 100.0)
    self.assertEqual(metrics['intervals']['gold_recall@3'], [100.0, 100.0])
    rows = _rows(self.output_dir, summary.PREDICTIONS)
    self.assertEqual([row['gold_rank'] for row in rows], [None, 3, 1])

  def test_one_block_is_the_first_and_the_oracle_the_best(self):
    def read(queries, retrieved):
      # Lyon wins in the sum over both blocks. Alone, block 0 gives Rome and
      # block 1 gives Paris.
      (question,) = queries.texts
      evidence = [_evidence(1, 'Lyon', 'Paris'), _evidence(0, 'Lyon', 'Rome')]
      return [answer_lib.Answer(question, 'Lyon', 2.0, evidence)]

    qa = self._qa(read=read)
    for answer, expected in (
      ('Lyon', (100.0, 0.0, 0.0)),
      ('Rome', (0.0, 100.0, 100.0)),
      ('Paris', (0.0, 0.0, 100.0)),
    ):
      question = questions_lib.Question('Where?', (answer,))
      metrics = qa.run([question], [2], self.output_dir)
      names = 'exact_match', 'exact_match_one_block', 'reader_oracle'
      self.assertEqual(tuple(metrics[name] for name in names), expected)

  def test_reranked_recall_is_in_the_readers_order(self):
    def read(queries, retrieved):
      evidence = [_evidence(2, 'K\u00f6ln'), _evidence(1, 'Rome')]
      return [
        answer_lib.Answer(q, 'K\u00f6ln', 2.0, evidence) for q in queries.texts
      ]

    qa = self._qa(read=read)
    metrics = qa.run(_QUESTIONS, [1, 2, 3], self.output_dir)
    # Answers are in blocks 1, 0 and 2. The reader puts block 2 first, 1 second,
    # and did not read 0.
    for k, recall in (1, 1 / 3), (2, 2 / 3), (3, 2 / 3):
      self.assertAlmostEqual(metrics[f'reranked_recall@{k}'], 100 * recall)
    self.assertEqual(metrics['recall@3'], 100)

  def test_latency_is_a_share_of_the_batch_without_the_first(self):
    # The clock is read before and after each batch, of 2, 2 and 1 questions:
    # 100 s of compilation, then 0.5 s, then 0.75 s.
    times = itertools.accumulate([0, 100, 7, 0.5, 7, 0.75])
    qa = self._qa(batch_size=2, clock=lambda: next(times))
    metrics = qa.run([_QUESTIONS[0]] * 5, [1], self.output_dir)
    # 250, 250 and 750 ms; the 95th percentile is interpolated.
    self.assertAlmostEqual(metrics['latency_ms_median'], 250)
    self.assertAlmostEqual(metrics['latency_ms_p95'], 250 + 0.9 * 500)

  def test_without_a_reader_measures_recall_only(self):
    qa = self._qa(read=None)
    metrics = qa.run(_QUESTIONS[:1], [1, 5], self.output_dir)
    self.assertEqual(metrics['num_questions'], 1)
    self.assertEqual((metrics['recall@1'], metrics['recall@5']), (0.0, 100.0))
    self.assertNotIn('exact_match', metrics)
    self.assertEqual(os.listdir(self.output_dir), [summary.RANKS])
    # Only the second block holds the answer.
    for k, is_right in ((1, False), (2, True)):
      found = summary.read_right(self.output_dir, _QUESTIONS[:1], f'recall@{k}')
      self.assertEqual(found.tolist(), [is_right])

  def test_questions_without_references_are_judged_but_not_read(self):
    judge = _Articles()
    qa = self._qa(read=lambda *_: self.fail('Read.'))
    asked = [questions_lib.Question('who', (), question_id='x')]
    for num_blocks, found in ((9, 9), (0, 2)):
      judge.num_blocks = num_blocks
      metrics = qa.run(asked, [2], self.output_dir, articles=judge)
      self.assertEqual(judge.seen.block_ids.shape, (1, found))
    self.assertEqual(judge.seen.scores.tolist(), [[0.0, 0.0]])
    self.assertNotIn('recall@2', metrics)
    self.assertNotIn('exact_match', metrics)
    self.assertEqual((metrics['num_with_qrels'], metrics['nDCG@10']), (2, 100))
    self.assertEqual(metrics['intervals'], {'nDCG@10': [100.0, 100.0]})
    self.assertIn('none', metrics['categories']['answer_type'])


class IsOfGoldArticleTest(absltest.TestCase):
  def test_every_block_of_the_article_counts(self):
    questions = [
      questions_lib.Question('q', ('x',), gold_id=gold)
      for gold in ('f', 'i', 'elsewhere', '')
    ]
    found = open_qa.is_of_gold_article(
      np.array([[0, 1, 2], [-1, 0, 1], [0, 1, 2], [-1, -1, 3], [0, 2, 1]]),
      lambda ids: [['f', 'i', 'f', ''][i] for i in ids],
      # The last is article 'f' itself, which is left out.
      [*questions, questions_lib.Question('q', (), False, 'f', 'i')],
    )
    expected = [[1, 0, 1], [0, 0, 1], [0, 0, 0], [0, 0, 0], [1, 0, 0]]
    np.testing.assert_array_equal(found, np.array(expected, bool))


class QualityTest(absltest.TestCase):
  def test_matches_hand_computation(self):
    questions = [
      questions_lib.Question('q', ('The U.S.', 'America')),  # Right: 1, 1.
      questions_lib.Question('q', ('Barack Obama',)),  # 0, F1 of 2/3.
      questions_lib.Question('q', ('rome',)),  # Wrong: 0, 0.
      questions_lib.Question('q', (r'19\d\d',), regex=True),  # 1, so 1.
      # A comparison by words would count "1945".
      questions_lib.Question('q', ('May (1945)?',), regex=True),
    ]
    predictions = ['US', 'obama', '', '1945', '1945']
    exact, f1 = outcome.quality(predictions, questions)
    np.testing.assert_array_equal(exact, [True, False, False, True, False])
    np.testing.assert_allclose(f1, [1, 2 / 3, 0, 1, 0])


def _model(directory, corpus_dir, sizes):
  """Writes a model directory; `sizes` are name -> number of weights."""
  model_files.create(directory, tiny.config(), layout.vocab_file(corpus_dir))
  arrays = {name: np.zeros(size, np.float32) for name, size in sizes.items()}
  model_files.publish(directory, 0, arrays)
  return directory


class CostsTest(absltest.TestCase):
  def test_weights_that_a_question_uses_count(self):
    root = self.create_tempdir()
    corpus = tiny.write_corpus(root.full_path)
    other = _model(
      os.path.join(root.full_path, 'other'),
      corpus,
      {'query_bert': 1000, 'reader_bert': 2, 'span_reader/w': 1},
    )
    sizes = {'query_bert': 10, 'block_bert': 20, 'reader_bert': 3}
    sizes |= {'span_reader/w': 4, 'masked_lm/w': 50, 't5_transformer/w': 600}
    model = _model(os.path.join(root.full_path, 'model'), corpus, sizes)
    index = os.path.dirname(root.create_file('index/0', 'x' * 5000).full_path)
    files = filter(pathlib.Path.is_file, pathlib.Path(corpus).rglob('*'))
    size = sum(path.stat().st_size for path in files)
    for search, model_dir, dirs, parameters, others in (
      # The query tower, the reader and its head: 10 + 3 + 4.
      ('model', model, {'index_dir': index}, 17, size + 5000),
      # Another model's reader: 10 + 2 + 1.
      ('model', model, {'index_dir': index, 'reader_dir': other}, 13, None),
      ('bm25', model, {}, 7, size),
      ('none', model, {}, 600, 0),
      ('bm25', None, {}, 0, size),
    ):
      found = open_qa.costs(search, corpus, model_dir, **dirs)
      self.assertEqual(found['parameters'], parameters)
      if others is not None:
        expected = 4 * parameters + others
        self.assertAlmostEqual(found['megabytes'] * 1e6, expected, 3)


if __name__ == '__main__':
  absltest.main()
