"""Tests for realm_tf.training.sentence_questions, blanks."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions
from realm_tf.data import held_out
from realm_tf.training import job
from realm_tf.training import sentence_questions
from tests import fakes
from tests import tiny

_BLOCKS = [0, 2, 1]  # Hits of every query, best first; only block 1 has 'f'.
_QUERIES = [
  ('A b.', [[0, 1]], 0),  # Blocks 2 and 1: the second has 'a'.
  ('F a.', [[0, 1]], 1),  # Blocks 0 and 2: neither has 'f'.
  ('B d.', [[1, 2]], 2),  # Blocks 0 and 1: the first has 'd'.
]


class ClozeQuestionsTest(absltest.TestCase):
  def _ask(self, queries, held_out_share=0.0, num_steps=1, num_others=0):
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    config = tiny.config(
      held_out={'share': held_out_share},
      finetuning={
        'optimizer': {'num_steps': num_steps},
        'sentence_share': 0.25,
      },
    )
    inputs = job.Inputs(
      config, directory, self.table, tiny.TOKENIZER, (0, 0), np.zeros(0)
    )
    return sentence_questions.from_sentences(
      tiny.open_queries(directory, queries),
      inputs,
      fakes.FakeRetriever(_BLOCKS, [0.0] * 3),
      num_others,
    )

  def test_a_blank_replaces_a_name_that_another_block_has(self):
    found = self._ask(_QUERIES, num_steps=3)
    gold = self.table.article_ids([1, 0])
    self.assertCountEqual(
      found,
      [
        questions.Question('what b.', ('A',), False, 'cloze-0', gold[0]),
        questions.Question('B what.', ('d',), False, 'cloze-2', gold[1]),
      ],
    )

  def test_held_out_articles_make_no_questions(self):
    share = 0.5
    found = self._ask(_QUERIES, share)
    kept = ~held_out.blocks(self.table, share)[[0, 2]]
    self.assertNotIn(kept.sum(), (0, 2))  # Both kinds must occur.
    self.assertEqual(
      {question.question_id for question in found},
      set(np.array(['cloze-0', 'cloze-2'])[kept]),
    )

  def test_sentences_beyond_the_last_step_are_not_searched(self):
    queries = [('A b.', [[0, 1]], 0)] * 1200
    self.assertLen(self._ask(queries, num_steps=600), 1024)  # Two chunks.
    self.assertLen(self._ask(queries, num_steps=2000), 1200)

  def test_sentences_are_a_share_next_to_other_questions(self):
    queries = [('A b.', [[0, 1]], 0)] * 60
    self.assertLen(self._ask(queries, num_steps=600, num_others=120), 40)
    self.assertLen(self._ask(queries, num_steps=600, num_others=1200), 60)
    self.assertLen(self._ask(queries, num_steps=30, num_others=120), 30)

  def test_no_question_at_all_is_an_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none for 1 sentences'):
      self._ask(_QUERIES[1:2])


if __name__ == '__main__':
  absltest.main()
