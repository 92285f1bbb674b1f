"""Tests for launch.own_text_plan: sizes and steps follow from the text."""

import json

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text
from launch import own_text_plan
from realm_tf.config import config_files
from tests.launch import surveys

_SMALL, _MIDDLE, _LARGE = surveys.SMALL, surveys.MIDDLE, surveys.LARGE


def _plan(text, num_questions=0, is_imported=True):
  return own_text_plan.make(
    text._replace(num_train_questions=num_questions), is_imported
  )


class OwnTextPlanTest(parameterized.TestCase):
  def test_a_short_article_is_one_block(self):
    # 1.35 * 27 + 16 = 52.5 wordpieces, rounded up to a multiple of 16.
    self.assertEqual(_plan(_SMALL).block_tokens, 64)
    self.assertEqual(_plan(_SMALL).num_blocks, 20)

  def test_long_articles_are_cut(self):
    plan = _plan(_MIDDLE)
    self.assertEqual(plan.block_tokens, 100)
    # 1.35 * 255,000 wordpieces, 0.8 * (100 - 8) = 73.6 in a block.
    self.assertEqual(plan.num_blocks, 4677)

  def test_the_steps_of_a_few_thousand_paragraphs(self):
    # 2 * 4677 / 64 = 146; 2 * 9000 / 32 and 9000 / 16 are above the limits.
    self.assertEqual(
      _plan(_MIDDLE).steps,
      {'embedders': 146, 'reader': 500, 'realm': 300, 'span_reader': 560},
    )

  def test_questions_add_stages_whose_steps_follow_from_their_number(self):
    steps = _plan(_MIDDLE, num_questions=3200).steps
    # 3 * 3200 / 32, 3 * 3200 / 16 and 3200 / 16.
    self.assertEqual(
      [steps[name] for name in ('towers', 'gold', 'qa')], [300, 600, 200]
    )

  def test_a_few_questions_only_measure(self):
    plan = _plan(_MIDDLE, num_questions=9)
    self.assertNotIn('towers', plan.steps)
    self.assertIn('9 questions are too few to train on.', plan.notes)

  def test_a_large_text_is_practised_on_a_part(self):
    plan = _plan(_LARGE)
    # 1.35 * 50,000,000 / 73.6 = 917,120 blocks, 30,000 of them for training.
    self.assertEqual(plan.num_blocks, 917_120)
    self.assertEqual(plan.practice_articles, 3271)
    self.assertEqual(_plan(_MIDDLE).practice_articles, 0)

  def test_random_weights_grow_with_the_text(self):
    self.assertTrue(_plan(_SMALL, is_imported=False).is_small)
    self.assertFalse(_plan(_LARGE, is_imported=False).is_small)

  def test_a_small_text_measures_no_sentence_and_says_so(self):
    # 0.13 * 60 = 8 sentences.
    plan = _plan(_SMALL)
    self.assertEqual(plan.held_out_share, 0)
    self.assertLen(plan.notes, 1)
    self.assertIn('about 8 sentences', plan.notes[0])

  def test_a_text_without_names_trains_no_reader(self):
    plan = _plan(_SMALL._replace(num_recurring=2))
    self.assertEqual([*plan.steps], ['embedders'])

  @parameterized.product(
    text=(_SMALL, _MIDDLE, _LARGE), questions=(0, 5000), imported=(True, False)
  )
  def test_every_config_reads_its_blocks_whole(self, text, questions, imported):
    plan = _plan(text, questions, imported)
    config = config_files.merge(own_text.CONFIG, plan.changes)
    lengths = config.lengths
    body = lengths.block_tokens - 3
    self.assertGreaterEqual(
      lengths.joint_tokens, body + lengths.query_tokens + 1
    )
    self.assertGreaterEqual(
      config.finetuning.joint_tokens, body + lengths.question_tokens + 3
    )

  def test_time_follows_from_the_speed_and_the_steps(self):
    plan = _plan(_MIDDLE)
    slow = own_text_plan.seconds(plan, 2e-3)
    fast = own_text_plan.seconds(plan, 1e-3)
    # 146 steps of 64 pairs of 164 wordpieces, 80 % filled.
    self.assertAlmostEqual(
      slow['embedders'] - fast['embedders'], 146 * 64 * 164 * 0.8 * 1e-3
    )

  def test_a_survey_is_read_as_it_was_written(self):
    directory = self.create_tempdir()
    fields = {**_SMALL._asdict(), 'num_names': 20}
    directory.create_file('survey.json', content=json.dumps(fields))
    self.assertEqual(own_text_plan.Found.read(directory.full_path), _SMALL)


if __name__ == '__main__':
  absltest.main()
