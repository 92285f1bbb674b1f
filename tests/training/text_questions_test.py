"""Tests for realm_tf.training.text_questions."""

import types

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.training import text_questions
from tests import tiny

_SENTENCES = [
  'The old mill near the harbour was sold to Ada Lund in 1931.',
  'In 1931 the harbour of the town and its old mill were sold.',
  'A storm took the roof of the town hall in 1950.',
]
_TITLES = ['Mill', 'Mill', 'Town']


def _ask(sentences=_SENTENCES, num_steps=50, num_others=0, own=None, share=0.0):
  own = np.arange(len(sentences)) if own is None else np.array(own)
  queries = types.SimpleNamespace(
    num_queries=len(sentences),
    own_blocks=own,
    query=lambda row: types.SimpleNamespace(text=sentences[row]),
  )
  table = types.SimpleNamespace(
    num_blocks=len(sentences),
    article_rows=np.arange(len(sentences)),
    titles=lambda ids: [_TITLES[i] for i in ids],
    article_ids=lambda ids: [f'id{i}' for i in ids],
  )
  config = tiny.config(
    held_out={'share': share},
    finetuning={'batch_size': 1, 'optimizer': {'num_steps': num_steps}},
  )
  inputs = types.SimpleNamespace(config=config, table=table)
  return text_questions.from_sentences(queries, inputs, num_others)


class TextQuestionsTest(absltest.TestCase):
  def test_another_sentence_of_the_article_asks(self):
    years = [each for each in _ask() if each.answers == ('1931',)]
    asked = {each.gold_block: each.question for each in years}
    # Each of the two sentences with 1931 asks for the other one's block.
    self.assertIn('town', asked[0])
    self.assertIn('near the harbour', asked[1])
    self.assertEqual({each.gold_id for each in years}, {'id0', 'id1'})

  def test_a_sentence_alone_asks_itself(self):
    (year,) = (each for each in _ask() if each.answers == ('1950',))
    self.assertIn('storm', year.question.lower())
    self.assertEqual((year.gold_block, year.gold_id), (2, 'id2'))

  def test_no_answer_stands_in_its_question(self):
    found = _ask()
    self.assertNotEmpty(found)
    for each in found:
      self.assertNotIn(each.answers[0].lower(), each.question.lower())

  def test_the_same_seed_asks_the_same(self):
    self.assertEqual(_ask(), _ask())

  def test_a_job_gets_as_many_as_it_reads(self):
    self.assertLen(_ask(num_steps=2), 2)
    number = len(_ask())
    # A fifth of all: n / (n + 12) = 0.2.
    self.assertLen(_ask(num_others=12), min(3, number))

  def test_held_out_and_unknown_blocks_make_no_question(self):
    with self.assertRaisesRegex(errors.UserError, 'none in 0 sentences'):
      _ask(own=[-1, -1, -1])
    blocks = {each.gold_block for each in _ask(own=[0, -1, 2])}
    self.assertEqual(blocks, {0, 2})

  def test_nothing_to_ask_for_is_an_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none in 1 sentences'):
      _ask(['It rained and it rained.'])


if __name__ == '__main__':
  absltest.main()
