"""Tests for realm_tf.training.inverse_cloze.question_pairs."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.records import sampling
from realm_tf.training import answer_labels
from realm_tf.training.inverse_cloze import question_pairs
from tests import fakes
from tests import tiny

# Twelve blocks with three titles; article i is block i.
_TITLES = ['a'] * 5 + ['b'] * 4 + ['c'] * 3
_TEXTS = [['a b', 'c d', 'e f'][i % 3] + ' .' * (i % 2) for i in range(12)]
_NAMES = 'query_ids', 'title_ids', 'body_ids'
_ANSWERS = [text[0] for text in _TEXTS]


def _config(**changes):
  defaults = {'batch_size': 4, 'questions_of_title': 2}
  return tiny.config(inverse_cloze=defaults | changes)


def _labels(questions):
  config = tiny.config(finetuning={'supervision': 'gold'}).finetuning
  table = fakes.FakeTable(tiny.TOKENIZER, _TITLES, _TEXTS)
  tokenized = answer_labels.tokenize(questions, tiny.TOKENIZER, 6)
  return answer_labels.AnswerLabels(
    tokenized, table, tiny.TOKENIZER, config=config
  )


def _on_every_block(*words):
  """Returns labels of questions on each block, by default two."""
  return _labels(
    [
      questions_lib.Question(f'{word} f', (answer,), gold_id=f'article {i}')
      for i, answer in enumerate(_ANSWERS)
      for word in words or ('a', 'b')
    ]
  )


def _take(number, labels, config, share=sampling.WHOLE):
  pairs = question_pairs.find(labels)
  batches = question_pairs.batches(pairs, labels, config, share=share)
  return list(itertools.islice(batches, number))


def _words(row):
  return tiny.TOKENIZER.detokenize(row[row > 0])


class FindTest(absltest.TestCase):
  def test_a_question_gets_a_block_of_its_article(self):
    labels = _labels(
      [
        questions_lib.Question('?', ('e',), gold_id='article 5'),
        questions_lib.Question('?', ('zz',), gold_id='article 5'),
        questions_lib.Question('?', ('a',), gold_id='article 3'),
      ]
    )
    pairs = question_pairs.find(labels)
    self.assertEqual(pairs.rows.tolist(), [0, 2])  # The second has no answer.
    self.assertEqual(pairs.block_ids.tolist(), [5, 3])

  def test_other_questions_get_the_first_found_block_with_an_answer(self):
    labels = _labels(
      [
        questions_lib.Question('?', ('c',)),
        questions_lib.Question('?', ('e',), gold_id='article 2'),
        questions_lib.Question('?', ('zz',)),
      ]
    )
    retriever = fakes.FakeRetriever([3, 7, 1, -1], [0.0] * 4)
    pairs = question_pairs.find(labels, retriever, 4)
    self.assertEqual([len(ids) for ids in retriever.asked], [2])  # Not 3.
    self.assertEqual(pairs.rows.tolist(), [0, 1])
    self.assertEqual(pairs.block_ids.tolist(), [7, 2])

  def test_without_any_block_there_is_a_user_error(self):
    labels = _labels([questions_lib.Question('?', ('zz',))])
    with self.assertRaisesRegex(errors.UserError, 'Found none for 1 questions'):
      question_pairs.find(labels)


class BatchesTest(parameterized.TestCase):
  def test_an_epoch_deals_each_question_once(self):
    # 24 questions give 6 batches; the titles' 10, 8 and 6 are groups of 2.
    batches = _take(6, _on_every_block(), _config())
    dealt = [
      tuple(_words(batch[name][i]) for name in _NAMES)
      for batch in batches
      for i in range(4)
    ]
    expected = [
      (word, title, text)
      for title, text in zip(_TITLES, _TEXTS)
      for word in ('a f', 'b f')
    ]
    self.assertCountEqual(dealt, expected)

  def test_questions_of_a_title_come_together_on_different_blocks(self):
    for batch in _take(6, _on_every_block(), _config()):
      for first in (0, 2):
        titles = [_words(batch['title_ids'][first + i]) for i in range(2)]
        self.assertEqual(titles[0], titles[1])

  def test_a_copy_of_the_own_block_is_no_negative(self):
    # One batch of all questions: each block occurs for two of them.
    (batch,) = _take(1, _on_every_block(), _config(batch_size=24))
    compared = batch['is_compared']
    self.assertTrue(np.diagonal(compared).all())
    names = 'title_ids', 'body_ids'
    blocks = np.concatenate([batch[name] for name in names], axis=1)
    is_same = (blocks == blocks[0]).all(axis=1)
    self.assertEqual(is_same.sum(), 2)
    self.assertEqual(compared[0, is_same].tolist(), [True, False])

  def test_another_block_with_the_answer_is_no_negative(self):
    # A third of the blocks has an a, a third a c, and a third an e.
    (batch,) = _take(1, _on_every_block('a'), _config(batch_size=12))
    words = [_words(row)[0] for row in batch['body_ids']]
    expected = [
      [i == j or words[i] != words[j] for j in range(12)] for i in range(12)
    ]
    self.assertEqual(batch['is_compared'].tolist(), expected)
    self.assertEqual(batch['is_compared'].sum(axis=1).tolist(), [9] * 12)

  def test_left_over_questions_are_dealt_in_groups_of_several_titles(self):
    # Groups of 4 leave over 1 + 0 + 3 of the titles' 5, 4 and 3 questions.
    batches = _take(3, _on_every_block('a'), _config(questions_of_title=4))
    titles = [sorted(map(_words, batch['title_ids'])) for batch in batches]
    self.assertCountEqual(titles, [['a'] * 4, ['b'] * 4, ['a', 'c', 'c', 'c']])

  @parameterized.parameters(1, 2)
  def test_batches_follow_from_seed_and_step_alone(self, bucket_batches):
    labels, config = _on_every_block(), _config(bucket_batches=bucket_batches)
    whole = _take(4, labels, config)
    resumed = _take(2, labels, config, sampling.Share(first_step=2))
    for actual, expected in zip(resumed, whole[2:], strict=True):
      for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, name)
    other = _take(4, labels, tiny.changed(config, seed=1))
    self.assertTrue(
      any(
        (one['is_compared'].shape != two['is_compared'].shape)
        or (one['title_ids'] != two['title_ids']).any()
        for one, two in zip(whole, other)
      )
    )

  def test_a_process_makes_its_part_of_the_batch(self):
    labels, config = _on_every_block(), _config()
    (whole,) = _take(1, labels, config)
    share = sampling.Share(number=1, count=2)
    (part,) = _take(1, labels, config, share)
    for name in ('query_ids', 'title_ids', 'is_compared'):
      np.testing.assert_array_equal(part[name], whole[name][2:], name)


if __name__ == '__main__':
  absltest.main()
