"""Tests for realm_tf.evaluation.field_judge."""

import itertools
import json
import math
import os

from absl.testing import absltest

from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import sources
from realm_tf.evaluation import field_judge
from realm_tf.evaluation import open_qa
from realm_tf.records import block_table
from realm_tf.text import answers
from tests import fakes
from tests import tiny

_WORDS = 'abcdef'
# Two sentences a block: the long article has 18 blocks, the short one a block.
_SENTENCES = [f'{a.upper()} {b}.' for a, b in itertools.product(_WORDS, _WORDS)]


class FieldJudgeTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._dir = self.create_tempdir().full_path
    articles = [
      sources.Article('a', ' '.join(_SENTENCES), 'long'),
      sources.Article('b', 'F f f.', 'short'),
    ]
    corpus = os.path.join(self._dir, 'corpus')
    tiny.write_blocks(tiny.cut(articles), corpus)
    self._table = block_table.BlockTable.open(corpus)
    self.assertEqual(self._table.num_blocks, 19)

  def _path(self, name):
    return os.path.join(self._dir, name)

  def _run(self, recall_at):
    """Searches blocks of the long article, then one of the short one."""
    with open(self._path('qrels'), 'w') as file:
      file.write('q 0 short 1\n')
    asked = [questions_lib.Question('who', ('f f f',), question_id='q')]
    names = 'qrels', 'run.trec', 'contexts.json', None
    paths = field_judge.Paths(*(name and self._path(name) for name in names))
    judge = field_judge.FieldJudge(
      paths, asked, self._table, recall_at=recall_at, seed=0
    )
    found = fakes.FakeRetriever(range(19), range(19, 0, -1))
    qa = open_qa.OpenQa(answers.AnswerMatcher(self._table.texts), found)
    return qa.run(asked, recall_at, self._path('eval'), judge=judge)

  def test_ndcg_is_of_articles_whatever_recall_is_of(self):
    for recall_at in ([1, 5], [5, 10], [100]):
      metrics = self._run(recall_at)
      # 18 blocks of the first article precede the second one.
      self.assertAlmostEqual(metrics['nDCG@10'], 100 / math.log2(3))
      self.assertEqual(metrics[f'R@{recall_at[-1]}'], 100.0)
      with open(self._path('run.trec')) as file:
        ranked = [line.split()[2] for line in file]
      self.assertEqual(ranked, ['long', 'short'])

  def test_contexts_are_as_many_as_recall_is_of(self):
    self._run([1, 5])
    with open(self._path('contexts.json')) as file:
      (row,) = json.load(file)
    self.assertLen(row['ctxs'], 5)


if __name__ == '__main__':
  absltest.main()
