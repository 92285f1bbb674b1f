"""Tests for launch.own_text: its stages, and their flags."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text
from launch import runner
from realm_tf import errors
from tests.launch import surveys


class OwnTextTest(parameterized.TestCase):
  def _recipe(self, survey, choice=(), **flags):
    folder = self.create_tempdir().full_path
    return surveys.recipe(folder, survey, choice, **flags)

  def _page(self, recipe):
    """Returns realm.json, as its stage writes it."""
    runner.write_parts(**recipe.stages['realm.json'].flags)
    with open(os.path.join(recipe.run_dir, 'realm.json')) as file:
      return json.load(file)

  def test_without_questions_a_page_has_a_reader_of_sentences(self):
    recipe = self._recipe(surveys.MIDDLE)
    learned = 'embedders reader realm span_reader model evaluate_eval_text'
    self.assertContainsSubset(learned.split(), recipe.stages)
    self.assertNotIn('towers', recipe.stages)
    self.assertEqual(
      self._page(recipe),
      {
        'model_dir': 'model',
        'corpus_dir': 'corpus',
        'index_dir': 'index_text',
        'reader_dir': 'span_reader',
        'pretrained_dir': 'realm',
        'sparse_weight': 1.0,
        'retriever': 'model',
        'best_effort': True,
      },
    )
    text = own_text.summary(recipe.run_dir)
    self.assertIn('Answers come from a reader that learned from your', text)
    self.assertIn(f'python -m bin.serve --model_dir={recipe.run_dir}', text)

  def test_the_articles_that_measure_never_train(self):
    stages = self._recipe(surveys.MIDDLE).stages
    trained = {
      stage.config.held_out.share
      for name, stage in stages.items()
      if name in ('embedders', 'reader', 'realm', 'span_reader')
    }
    measured = {stages['evaluate_eval_text'].flags['held_out_share']}
    self.assertEqual((trained, measured), ({0.1}, {0.1}))

  def test_with_questions_the_trained_reader_reads(self):
    recipe = self._recipe(
      surveys.MIDDLE | surveys.QUESTIONS,
      {'model': 'qa', 'reads_qa': True},
      questions='/questions.jsonl',
    )
    flags = recipe.stages['qa'].flags
    survey = os.path.join(recipe.run_dir, 'survey')
    self.assertEqual(flags['questions'], f'{survey}/train_questions.jsonl')
    self.assertEqual(
      recipe.stages['evaluate_eval_qa'].flags['questions'],
      f'{survey}/held_out_questions.jsonl',
    )
    page = self._page(recipe)
    self.assertEqual((page['model_dir'], page['best_effort']), ('qa', False))
    self.assertNotIn('reader_dir', page)
    text = own_text.summary(recipe.run_dir)
    self.assertNotIn('hints', text)
    self.assertNotIn('--questions', text)

  def test_questions_of_a_test_never_train(self):
    recipe = self._recipe(surveys.MIDDLE, test_questions='/test.jsonl')
    readers = [
      stage.action
      for stage in recipe.stages.values()
      if stage.flags.get('questions') == '/test.jsonl'
    ]
    self.assertEqual({*readers}, {'evaluate'})

  @parameterized.parameters(surveys.SMALL, surveys.MIDDLE, surveys.LARGE)
  def test_without_questions_an_encoder_is_measured_and_not_trained(
    self, **survey
  ):
    recipe = self._recipe(survey, has_encoder=True)
    self.assertNoCommonElements(
      recipe.stages, ['embedders', 'realm', 'model', 'towers']
    )
    page = self._page(recipe)
    self.assertEqual(
      (page['model_dir'], page['index_dir'], page['reader_dir']),
      ('encoder', 'index_encoder', 'span_reader'),
    )
    is_large = survey['num_articles'] == surveys.LARGE['num_articles']
    self.assertEqual(page.get('pretrained_dir'), None if is_large else 'reader')
    # Too few sentences of the small text would tell a better search.
    self.assertEqual(
      bool(recipe.stages['choice.json'].flags['evaluations']),
      survey['num_articles'] > 20,
    )

  def test_a_wrong_encoder_is_a_mistake(self):
    for wrong in ('hf:/nowhere', 'tf1:/tmp', '/nowhere'):
      with self.assertRaisesRegex(errors.UserError, '--encoder must be'):
        self._recipe(surveys.SMALL, encoder=wrong)

  def test_a_text_without_names_ends_with_a_search(self):
    recipe = self._recipe(surveys.SMALL | {'num_recurring': 2})
    page = self._page(recipe)
    self.assertNotIn('reader_dir', page)
    self.assertEqual(page['num_read'], 5)
    text = own_text.summary(recipe.run_dir)
    self.assertIn('the page shows the best blocks alone', text)
    self.assertNotIn('hints', text)


if __name__ == '__main__':
  absltest.main()
