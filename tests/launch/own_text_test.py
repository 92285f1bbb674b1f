"""Tests for launch.own_text: its stages, and their flags."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text
from launch import recipe as recipe_lib
from launch import runner
import realm_tf
from realm_tf import errors
from tests import forked_binaries
from tests.launch import surveys

_SMALL, _LARGE = surveys.SMALL, surveys.LARGE
_WITH_QUESTIONS = surveys.MIDDLE | {
  'num_train_questions': 900,
  'num_held_out_questions': 100,
}
_CHOICE = {
  'model': 'after',
  'retriever': 'model',
  'sparse_weight': 1.0,
  'reads_qa': False,
  'text': 'The figures.',
}


class OwnTextTest(parameterized.TestCase):
  def _recipe(self, survey, choice=(), **flags):
    """Lists all stages; the survey and the choice are there."""
    run_dir = self.create_tempdir()
    run_dir.create_file('survey/survey.json', json.dumps(survey))
    run_dir.create_file('choice.json', json.dumps(_CHOICE | dict(choice)))
    recipe = recipe_lib.Recipe(run_dir.full_path)
    own_text.stages(recipe, '/articles.jsonl', **flags)
    return recipe

  def _page(self, recipe):
    """Returns realm.json, as its stage writes it."""
    runner.write_parts(**recipe.stages['realm.json'].flags)
    with open(os.path.join(recipe.run_dir, 'realm.json')) as file:
      return json.load(file)

  def _encoder(self):
    """Returns a model directory, as far as a recipe looks into it."""
    directory = self.create_tempdir()
    directory.mkdir('params')
    return directory.full_path

  def test_without_questions_a_page_has_a_reader_of_sentences(self):
    recipe = self._recipe(surveys.MIDDLE)
    self.assertContainsSubset(
      [
        'embedders',
        'reader',
        'realm',
        'span_reader',
        'model',
        'evaluate_eval_after',
      ],
      recipe.stages,
    )
    self.assertNotIn('towers', recipe.stages)
    self.assertEqual(
      self._page(recipe),
      {
        'model_dir': 'model',
        'corpus_dir': 'corpus',
        'index_dir': 'index_after',
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
    measured = {stages['evaluate_eval_after'].flags['held_out_share']}
    self.assertEqual((trained, measured), ({0.1}, {0.1}))

  def test_with_questions_the_trained_reader_reads(self):
    recipe = self._recipe(
      _WITH_QUESTIONS,
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

  def test_an_encoder_is_measured_before_any_training(self):
    encoder = self._encoder()
    recipe = self._recipe(_SMALL, {'model': 'before'}, encoder=encoder)
    model_dir = os.path.join(recipe.run_dir, self._page(recipe)['model_dir'])
    self.assertEqual(os.path.normpath(model_dir), encoder)
    # There are too few sentences to measure: a better search is unknown.
    self.assertEmpty(recipe.stages['choice.json'].flags['evaluations'])
    self.assertNotIn('realm', recipe.stages)
    self.assertEqual(self._page(recipe)['pretrained_dir'], 'reader')

  def test_an_encoder_learns_without_realm(self):
    encoder = self._encoder()
    recipe = self._recipe(surveys.MIDDLE, encoder=encoder)
    self.assertNotIn('realm', recipe.stages)
    flags = recipe.stages['model'].flags
    self.assertEqual(flags['before_dir'], encoder)
    self.assertEqual(flags['model_dir'], recipe.stages['embedders'].output)
    page = self._page(recipe)
    self.assertEqual(
      (page['model_dir'], page['pretrained_dir']), ('model', 'reader')
    )

  def test_a_large_text_is_indexed_once_for_the_page(self):
    recipe = self._recipe(_LARGE, encoder=self._encoder())
    practice, corpus = (
      recipe.stages[name].output for name in ('practice', 'corpus')
    )
    for name, stage in recipe.stages.items():
      if 'corpus_dir' in stage.flags:
        is_page = name in ('page_index', 'realm.json')
        expected = corpus if is_page else practice
        self.assertEqual(stage.flags['corpus_dir'], expected)
    page = self._page(recipe)
    self.assertEqual(page['index_dir'], 'page_index')
    self.assertNotIn('pretrained_dir', page)

  def test_a_wrong_encoder_is_a_mistake(self):
    for wrong in ('hf:/nowhere', 'tf1:/tmp', '/nowhere'):
      with self.assertRaisesRegex(errors.UserError, '--encoder must be'):
        self._recipe(_SMALL, encoder=wrong)

  def test_a_text_without_names_ends_with_a_search(self):
    plants = 'fern moss rose lily oak pine elm ivy mint sage'.split()
    lines = [
      json.dumps({'title': name, 'text': f'the {name} is green. keep it dry.'})
      for name in plants
    ]
    articles = self.create_tempfile('articles.jsonl', '\n'.join(lines))
    run_dir = os.path.join(self.create_tempdir().full_path, 'run')
    own_text.run(articles.full_path, run_dir)
    found = realm_tf.load(run_dir).search('a green lily', 1)
    self.assertEqual(found[0].title, 'lily')
    text = own_text.summary(run_dir)
    self.assertIn('the page shows the best blocks alone', text)
    self.assertNotIn('hints', text)

  def test_the_binaries_accept_all_flags(self):
    cases = {}
    for large in ({}, {'num_articles': 10**5, 'num_words': 5 * 10**7}):
      recipe = self._recipe(
        _WITH_QUESTIONS | large,
        {'model': 'qa'},
        questions='/questions.jsonl',
        test_questions='/test.jsonl',
        encoder=self._encoder(),
      )
      stages = recipe.stages.values()
      for stage in [s for s in stages if isinstance(s.action, str)]:
        for binary, flags in stage.runs:
          given = recipe_lib.arguments({**flags, 'model_of': None})
          case = binary, [*given, '--set=no.key=1']
          cases[binary, frozenset(flags)] = case
    self.assertGreater(len(cases), 10)
    for result in forked_binaries.run_all(list(cases.values())):
      self.assertEqual(result.code, 2)
      self.assertStartsWith(result.stderr, 'ERROR: Unknown config key `no.key`')


if __name__ == '__main__':
  absltest.main()
