"""Tests for realm_tf.training.finetuning."""

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import questions as questions_lib
from realm_tf.training import answer_labels
from realm_tf.training import finetuning
from tests import fakes
from tests import tiny

_TEXTS = ['a b . c d', 'e a b f', 'd d d d']
_EMBEDDINGS = np.array([[0.0], [1.0], [2.0]], np.float32)


def _questions(*texts_and_answers):
  return answer_labels.tokenize(
    [
      questions_lib.Question(text, (answer,), gold_id=''.join(gold))
      for text, answer, *gold in texts_and_answers
    ],
    tiny.TOKENIZER,
    6,
  )


class FinetuningBatchesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.table = fakes.FakeTable(tiny.TOKENIZER, ['a', 'b', 'c'], _TEXTS)

  def _take(self, questions, found, embeddings=_EMBEDDINGS, **changes):
    """Takes a batch; `found` are the ids and scores of every search."""
    config = tiny.config(finetuning=changes)
    labels = answer_labels.AnswerLabels(
      questions, self.table, tiny.TOKENIZER, config=config.finetuning
    )
    return next(
      finetuning.batches(
        labels, fakes.FakeRetriever(*found), embeddings, experiment=config
      )
    )

  def test_labels_blocks_and_spans_with_the_answer(self):
    found = [1, 2, 0], [3.0, 2.0, 1.0]
    batch = self._take(_questions(('f ?', 'a b')), found)
    self.assertEqual(batch['has_answer'].tolist(), [[True, False, True]])
    # Two blocks are read. In 'e a b f', 'a b' begins at wordpiece 1 and has a
    # width of two.
    self.assertEqual(np.argwhere(batch['is_answer']).tolist(), [[0, 0, 1, 1]])
    self.assertEqual(batch['body_ids'].shape[:2], (1, 2))
    self.assertEqual(batch['is_answer'].shape[:3], batch['body_ids'].shape)

  def test_read_answer_block_reads_a_block_with_the_answer(self):
    found = [2, 1, 0], [3.0, 2.0, 1.0]
    for answer, reads, rows, spans in (
      ('c d', False, [0, 1], []),  # Only block 0, the third, has it.
      ('c d', True, [0, 2], [[0, 1, 3, 1]]),
      ('a b', True, [0, 1], [[0, 1, 1, 1]]),
      ('f e', True, [0, 1], []),  # No block has it.
    ):
      questions = _questions(('b ?', answer))
      batch = self._take(questions, found, read_answer_block=reads)
      self.assertEqual(batch['read_rows'].tolist(), [rows])
      self.assertEqual(np.argwhere(batch['is_answer']).tolist(), spans)
      bodies = self.table.gather(np.array(found[0])[rows], 1, 5)[1]
      np.testing.assert_array_equal(batch['body_ids'][0, :, :5], bodies)

  def test_only_blocks_of_the_own_article_are_positives(self):
    found = [1, 0, 2], [3.0, 2.0, 1.0]
    questions = _questions(('b ?', 'a b', 'article 0'))  # Block 1 has it, too.
    batch = self._take(questions, found, supervision='gold', num_read=1)
    self.assertEqual(batch['has_answer'].tolist(), [[False, True, False]])
    # The other block with the answer's text is neither right nor wrong.
    self.assertEqual(batch['is_compared'].tolist(), [[False, True, True]])
    self.assertEqual(batch['read_rows'].tolist(), [[1]])
    self.assertEqual(np.argwhere(batch['is_answer']).tolist(), [[0, 0, 0, 1]])
    batch = self._take(questions, found, supervision='gold')
    self.assertEqual(batch['read_rows'].tolist(), [[0, 1]])
    self.assertEqual(np.argwhere(batch['is_answer']).tolist(), [[0, 1, 0, 1]])

  def test_the_own_article_is_read_if_it_was_not_found(self):
    questions = _questions(('b ?', 'a b', 'article 0'))
    for scores in ([3.0, 2.0], [3.0, -np.inf]):
      for embeddings in (_EMBEDDINGS, None):
        batch = self._take(
          questions,
          ([1, 2], scores),
          embeddings,
          supervision='gold',
          num_searched=2,
          num_read=1,
        )
        self.assertEqual(batch['has_answer'].tolist(), [[False, True]])
        # Block 1 has the answer's text, too.
        self.assertEqual(batch['is_compared'].tolist(), [[False, True]])
        self.assertEqual(batch['read_rows'].tolist(), [[1]])
        if embeddings is None:  # Not above the scores of found blocks.
          self.assertLessEqual(*batch['fixed_scores'][0, ::-1])
        else:
          self.assertEqual(batch['block_embeddings'][0, 1], _EMBEDDINGS[0])

  def test_takes_the_blocks_embeddings_or_else_the_searchs_scores(self):
    found = [2, 0, -1], [3.0, 2.0, -np.inf]  # A missing block's are finite.
    for embeddings, name, other, expected in (
      (_EMBEDDINGS, 'block_embeddings', 'fixed_scores', [[2.0], [0.0], [0.0]]),
      (None, 'fixed_scores', 'block_embeddings', [3.0, 2.0, 0.0]),
    ):
      batch = self._take(_questions(('f', 'a')), found, embeddings)
      self.assertEqual(batch[name].tolist(), [expected])
      self.assertNotIn(other, batch)

  def test_impossible_questions_have_no_positive_but_are_read(self):
    impossible = questions_lib.Question('b ?', (), is_impossible=True)
    questions = answer_labels.tokenize([impossible], tiny.TOKENIZER, 6)
    found = [1, 0, 2], [3.0, 2.0, 1.0]
    for supervision in ('gold', 'answer'):
      changes = {'supervision': supervision, 'read_answer_block': True}
      batch = self._take(questions, found, null_spans=True, **changes)
      self.assertEqual(batch['is_impossible'].tolist(), [True])
      self.assertEqual(batch['read_rows'].tolist(), [[0, 1]])
      self.assertFalse(batch['has_answer'].any() or batch['is_answer'].any())
      self.assertTrue(batch['is_compared'].all())


if __name__ == '__main__':
  absltest.main()
