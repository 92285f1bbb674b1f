"""Tests for launch.own_text: its stages, and the search that measured best."""

import json
import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized

from launch import own_text
from launch import own_text_stages
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
    return json.loads(pathlib.Path(recipe.run_dir, 'realm.json').read_text())

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
        'num_read': 5,
        'best_effort': True,
      },
    )
    text = own_text.summary(recipe.run_dir)
    self.assertIn('Answers come from a reader that learned from your', text)
    self.assertIn(f'python -m bin.serve --model_dir={recipe.run_dir}', text)

    # The survey converts the articles once, for all.
    stages = recipe.stages
    read = {str(stages[each].flags['input']) for each in ('corpus', 'queries')}
    survey = pathlib.Path(recipe.run_dir, 'survey/articles.jsonl')
    self.assertEqual(read, {str(survey)})

    # The articles that measure never train.
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

  def test_the_rate_of_a_reader_falls_with_its_steps(self):
    # 2e-4 up to 450 steps; 2250 have 2e-4 / sqrt(5), random weights 2e-3.
    for minutes, has_encoder, rate in (
      (0.1, True, 2e-4),
      (1e3, True, 2e-4 / 5**0.5),
      (1e3, False, 2e-3),
    ):
      recipe = self._recipe(
        surveys.MIDDLE, has_encoder=has_encoder, minutes=minutes
      )
      optimizer = recipe.stages['span_reader'].config.finetuning.optimizer
      self.assertAlmostEqual(optimizer.learning_rate, rate)

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
    self.assertNotIn('pretrained_dir', page)
    # Too few sentences of the small text would tell a better search.
    self.assertEqual(
      bool(recipe.stages['choice.json'].flags['evaluations']),
      survey['num_articles'] > 20,
    )

  def test_a_reader_without_an_encoder_reads_what_words_find(self):
    reader = self.create_tempdir()
    reader.mkdir('params')
    path = reader.full_path
    choice = {'model': 'bm25', 'retriever': 'bm25', 'sparse_weight': 0.0}
    recipe = self._recipe(surveys.MIDDLE, choice, reader=path)
    self.assertCountEqual(
      recipe.stages, ['survey', 'corpus', 'choice.json', 'realm.json']
    )
    vocab_file = recipe.stages['corpus'].flags['vocab_file']
    self.assertEqual(vocab_file, f'{path}/vocab.txt')
    page = self._page(recipe)
    relative = os.path.relpath(path, recipe.run_dir)
    self.assertEqual(os.path.normpath(page['model_dir']), relative)
    self.assertEqual(
      (page['retriever'], page['num_read'], page['best_effort']),
      ('bm25', 5, False),
    )
    self.assertNotIn('index_dir', page)

  def test_a_given_reader_replaces_the_reader_of_sentences(self):
    reader = self.create_tempdir()
    # The result of another recipe, such as launch.reader.
    reader.create_file('realm.json', json.dumps({'model_dir': 'read'}))
    reader.mkdir('read/params')
    recipe = self._recipe(
      surveys.MIDDLE, has_encoder=True, reader=reader.full_path
    )
    self.assertNoCommonElements(recipe.stages, ['queries', 'span_reader'])
    page = self._page(recipe)
    self.assertEndsWith(page['reader_dir'], '/read')
    self.assertEqual(page['index_dir'], 'index_encoder')

  def test_questions_for_a_reader_alone_are_a_mistake(self):
    reader = self.create_tempdir()
    reader.mkdir('params')
    flags = {'reader': reader.full_path, 'questions': '/questions.jsonl'}
    with self.assertRaisesRegex(errors.UserError, 'must have an --encoder'):
      self._recipe(surveys.MIDDLE, **flags)

  def test_a_name_of_the_hub_is_imported_by_its_name(self):
    recipe = self._recipe(
      surveys.MIDDLE, has_encoder=True, reader='hf:someone/reader'
    )
    source = recipe.stages['given_reader'].flags['source']
    self.assertEqual(source, 'hf:someone/reader')

  def test_a_wrong_encoder_or_result_of_a_recipe_is_one_line(self):
    for wrong in ('hf:/nowhere', 'hf:./no/where', 'tf1:/tmp', '/nowhere'):
      with self.assertRaisesRegex(errors.UserError, '--encoder must be'):
        self._recipe(surveys.SMALL, encoder=wrong)
    for damaged in ('{', '[]', '{}', '{"model_dir": 3}'):
      folder = self.create_tempdir()
      folder.create_file('realm.json', damaged)
      with self.assertRaisesRegex(
        errors.UserError, r'realm[.]json.* must .*recipe again'
      ):
        self._recipe(surveys.SMALL, reader=folder.full_path)

  def test_a_text_without_names_ends_with_a_search(self):
    recipe = self._recipe(surveys.SMALL | {'num_recurring': 2})
    page = self._page(recipe)
    self.assertNotIn('reader_dir', page)
    self.assertEqual(page['num_read'], 5)
    text = own_text.summary(recipe.run_dir)
    self.assertIn('the page shows the best blocks alone', text)
    self.assertNotIn('hints', text)


class ChooseTest(parameterized.TestCase):
  def _choose(self, hits, models=('encoder', 'text'), kind='span_', exact=None):
    """Chooses by search, as 'text+' with BM25 -> number of hits among 50."""
    root = self.create_tempdir()
    for name, number in hits.items():
      recall = 2.0 * number
      metrics = {
        'num_sentences' if kind else 'num_questions': 50,
        f'{kind}recall@5': recall,
        f'{kind}intervals': {f'{kind}recall@5': [recall - 4, recall + 4]},
      }
      if name in (exact or {}):
        metrics['exact_match'] = exact[name]
      folder, with_words, _ = name.partition('+')
      place = f'{folder}/sparse_{0.7 if with_words else 0}'
      place = place if folder != 'bm25' else folder
      if not number:  # As where all questions are impossible.
        metrics = {'num_questions': 50}
      root.create_file(f'{place}/metrics.json', json.dumps(metrics))
      ranks = [5] * number + [None, 6] * 25
      lines = [{f'{kind or "answer_"}rank': rank} for rank in ranks[:50]]
      file = 'span_ranks' if kind else 'predictions'
      root.create_file(
        f'{place}/{file}.jsonl', '\n'.join(map(json.dumps, lines))
      )
    folders = dict.fromkeys(name.rstrip('+') for name in hits)
    folder = pathlib.Path(root.full_path)
    path = folder / 'choice.json'
    paths = [str(folder / each) for each in folders]
    own_text_stages.choose(list(models), paths, [], str(path))
    return json.loads(path.read_text())

  @parameterized.parameters(
    # Hits of BM25, encoder, encoder + BM25, text, text + BM25.
    ((20, 21, 25, 21, 31), ('text', 0.7, 'model')),
    ((20, 21, 26, 21, 24), ('encoder', 0.7, 'model')),
    ((20, 21, 25, 31, 31), ('text', 0.0, 'model')),
    ((31, 21, 25, 21, 26), ('text', 0.0, 'bm25')),
    # Equal: training brought nothing, so the start is handed over.
    ((20, 21, 26, 26, 26), ('encoder', 0.7, 'model')),
    ((26, 26, 26, 26, 26), ('encoder', 0.7, 'model')),
    ((30, 21, 25, 21, 26), ('encoder', 0.7, 'model')),
    # A lead of 5 questions may be chance: 2 * 0.5 ** 5 = 0.06; of 6, 0.03.
    ((20, 21, 26, 21, 31), ('encoder', 0.7, 'model')),
    ((20, 21, 26, 21, 32), ('text', 0.7, 'model')),
  )
  def test_more_training_must_be_clearly_better(self, hits, expected):
    names = ('bm25', 'encoder', 'encoder+', 'text', 'text+')
    choice = self._choose(dict(zip(names, hits, strict=True)))
    fields = 'model', 'sparse_weight', 'retriever'
    self.assertEqual(tuple(choice[field] for field in fields), expected)

  @parameterized.parameters((30, 31, True), (31, 30, False))
  def test_the_better_reader_reads(self, after, qa, reads_qa):
    choice = self._choose(
      {'bm25': 10, 'text+': 20, 'qa+': 40},
      ['text', 'qa'],
      kind='',
      exact={'text+': after, 'qa+': qa},
    )
    self.assertEqual((choice['model'], choice['reads_qa']), ('qa', reads_qa))
    self.assertIn('Held out: 50 questions', choice['text'])
    self.assertIn(f'80.0 (76.0 to 84.0), exact answers {qa}', choice['text'])

  @parameterized.parameters(
    (['encoder', 'text'], ('encoder', 'model', 0.7, False)),
    (['text'], ('text', 'bm25', 0.0, False)),
    (['text', 'qa'], ('qa', 'bm25', 0.0, True)),
  )
  def test_without_a_measure_the_start_is_kept(self, models, expected):
    choice = self._choose({'bm25': 0}, models)
    self.assertIn('nothing is held out', choice.pop('text'))
    self.assertEqual(tuple(choice.values()), expected)

  def test_the_text_has_two_lines(self):
    hits = {'bm25': 20, 'encoder': 18, 'encoder+': 25}
    shown = self._choose(hits, ['encoder'])['text']
    figures, choice = shown.split('\n')
    self.assertIn('50 masked sentences', figures)
    self.assertIn('words 40.0 (36.0 to 44.0); the encoder', figures)
    self.assertEndsWith(figures, 'and words 50.0 (46.0 to 54.0).')
    self.assertIn("by the encoder's embeddings and words: no other", choice)


if __name__ == '__main__':
  absltest.main()
