"""Tests for realm_tf.training.sentence_questions: templates and blanks."""

import re

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import questions
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import held_out
from realm_tf.data import query_table
from realm_tf.training import job
from realm_tf.training import sentence_questions
from tests import fakes
from tests import tiny

# Each sentence is a block.
_MILL = (
  'Olga Vens wrote in a diary about the wooden mill of Lendor.',
  'The wooden mill was given to Olga Vens for a diary of bees.',
  'A cat sleeps here and there.',
)
_HARBOR = (
  'The harbor opened in 1931 with six long piers.',
  'The harbor was closed in 1942 after an autumn storm.',
)
_BOTH = [('Mill', _MILL), ('Harbor', _HARBOR)]
_WORDS = sorted(
  set(
    re.findall(r'\w+|\.', ' '.join((*_MILL, *_HARBOR, 'Mill Harbor')).lower())
  )
)
_TOKENIZER = fakes.tokenizer(' '.join(_WORDS))


class TextQuestionsTest(absltest.TestCase):
  def _ask(
    self, articles, num_steps=99, num_others=0, share=0.0, width=3, seed=0
  ):
    """Returns the questions of (title, sentences), each in 2 articles."""
    directory = self.create_tempdir().full_path
    cut = tiny.cut(
      [
        sources.Article(title, sentence, f'{title} {i}')
        for title, sentences in articles
        for i, sentence in enumerate(sentences)
      ],
      _TOKENIZER,
      30,
    )
    tiny.write_blocks(cut, f'{directory}/corpus', _TOKENIZER, 30)
    self.table = block_table.BlockTable.open(f'{directory}/corpus')
    queries = query_table.QueryTable.open(
      tiny.write_queries(
        directory,
        (_query(block.text, i) for i, block in enumerate(cut)),
        'random',
        self.table,
      )
    )
    queries.fit_corpus(self.table)
    config = tiny.config(
      seed=seed,
      model={'max_span_width': width},
      held_out={'share': share},
      finetuning={
        'optimizer': {'num_steps': num_steps},
        'sentence_share': 0.25,
      },
    )
    inputs = job.Inputs(config, self.table, _TOKENIZER, None)
    return sentence_questions.from_sentences(
      queries, inputs, num_others=num_others
    )

  def test_questions_can_be_answered_from_their_own_block(self):
    found = self._ask(_BOTH)
    self.assertGreater(len(found), 5)
    self.assertLen({each.question_id for each in found}, len(found))
    for each in found:
      (answer,) = each.answers
      (text,) = self.table.texts([each.gold_block])
      self.assertIn(answer, text)
      self.assertNotIn(answer, each.question)
      self.assertEqual(
        self.table.article_ids([each.gold_block]), [each.gold_id]
      )
      self.assertRegex(each.question, r'^[A-Z].*[^.]\?$')
    blocks = [each.gold_block for each in found]
    self.assertEqual(max(map(blocks.count, blocks)), 2)

  def test_a_similar_sentence_of_another_block_asks(self):
    found = self._ask([('Mill', _MILL)])
    asked = {
      each.gold_block: each.question
      for each in found
      if each.answers == ('Olga Vens',)
    }
    # Each block answers the question of the other's sentence.
    self.assertIn('given', asked[0])
    self.assertNotIn('wrote', asked[0])
    self.assertIn('wrote', asked[1])
    # Without the other, a sentence asks itself.
    (own,) = (
      each
      for each in self._ask([('Mill', _MILL[:1])])
      if each.answers == ('Olga Vens',)
    )
    self.assertIn('wrote', own.question)

  def test_answers_are_at_most_as_wide_as_the_reader_reads(self):
    for width in (1, 2):
      found = self._ask([('Mill', _MILL)], width=width)
      answers = {each.answers[0] for each in found}
      self.assertEqual('Olga Vens' in answers, width == 2)

  def test_the_order_depends_on_the_seed_alone(self):
    found = [self._ask(_BOTH, seed=seed) for seed in (0, 0, 1)]
    self.assertEqual(found[0], found[1])
    self.assertNotEqual(found[0], found[2])

  def test_held_out_articles_neither_ask_nor_answer(self):
    for share in (0.2, 0.4, 0.6, 0.8):
      self._ask(_BOTH)
      kept = ~held_out.blocks(self.table, share)
      if 0 < kept.sum() < len(kept):
        break
    found = self._ask(_BOTH, share=share)
    self.assertNotEmpty(found)
    self.assertTrue(kept[[each.gold_block for each in found]].all())

  def test_as_many_as_the_training_reads(self):
    self.assertLen(self._ask(_BOTH, num_steps=3), 3)
    # A quarter of all.
    self.assertLen(self._ask(_BOTH, num_others=6), 2)

  def test_no_question_at_all_is_an_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none for 1 sentences'):
      self._ask([('Mill', _MILL[2:])])


def _query(text, block):
  tokens = _TOKENIZER.tokenize(text)
  (names,) = salient_spans.RulesTagger().tag([text])
  return tiny.query(
    tokens.ids, [tokens.span(*name) for name in names], block, text
  )


_BLOCKS = [0, 2, 1]  # Hits of every query, best first; only block 1 has 'f'.
_MASKED = [
  ('A b.', [[0, 1]], 0),  # Blocks 2 and 1: the second has 'a'.
  ('F a.', [[0, 1]], 1),  # Blocks 0 and 2: neither has 'f'.
  ('B d.', [[1, 2]], 2),  # Blocks 0 and 1: the first has 'd'.
]


class ClozeQuestionsTest(absltest.TestCase):
  def _ask(self, queries, num_steps, num_others=0):
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    config = tiny.config(
      finetuning={'optimizer': {'num_steps': num_steps}, 'sentence_share': 0.25}
    )
    inputs = job.Inputs(config, self.table, tiny.TOKENIZER, None)
    return sentence_questions.from_sentences(
      tiny.open_queries(directory, queries),
      inputs,
      fakes.FakeRetriever(_BLOCKS, [0.0] * 3),
      num_others,
    )

  def test_a_blank_replaces_a_name_that_another_block_has(self):
    found = self._ask(_MASKED, num_steps=3)
    gold = self.table.article_ids([1, 0])
    self.assertCountEqual(
      found,
      [
        questions.Question('what b.', ('A',), False, 'cloze-0', gold[0]),
        questions.Question('B what.', ('d',), False, 'cloze-2', gold[1]),
      ],
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


if __name__ == '__main__':
  absltest.main()
