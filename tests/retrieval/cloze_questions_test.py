"""Tests for realm_tf.retrieval.cloze_questions, by hand."""

from absl.testing import absltest
import numpy as np

from realm_tf.retrieval import cloze_questions
from tests import tiny

_BLOCKS = [0, 2, 1]  # Found for every query, best first; 'f' is in 1 alone.


def _search(ids, k):
  found = np.full([len(ids), k], -1)
  found[:, : len(_BLOCKS)] = _BLOCKS
  return found


class ClozeQuestionsTest(absltest.TestCase):
  def test_a_name_is_left_out_that_another_block_has(self):
    directory = self.create_tempdir().full_path
    table = tiny.open_corpus(directory)
    queries = tiny.open_queries(
      directory,
      [
        ('A b.', [[0, 1]], 0),  # Of 2, 1: the second has 'a'.
        ('F a.', [[0, 1]], 1),  # Of 0, 2: none has 'f'.
        ('B d.', [[1, 2]], 2),  # Of 0, 1: the first has 'd'.
      ],
    )
    found = cloze_questions.of_sentences(
      queries, table, _search, tiny.TOKENIZER, seed=0
    )
    self.assertCountEqual(
      found,
      [
        {
          'question': 'what b.',
          'answers': ['A'],
          'id': 'cloze-0',
          'gold_id': table.article_ids([1])[0],
        },
        {
          'question': 'B what.',
          'answers': ['d'],
          'id': 'cloze-2',
          'gold_id': table.article_ids([0])[0],
        },
      ],
    )


if __name__ == '__main__':
  absltest.main()
