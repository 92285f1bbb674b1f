"""Tests for the recipes of launch/."""

import json
import os
import types

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from launch import open_qa
from launch import quickstart
from launch import reader
from launch import recipe as recipe_lib
from launch import runner
from launch import table1
from launch import tables
from realm_tf import errors
from realm_tf.config import config_files
from realm_tf.data import whole_blocks
from tests import forks
from tests import source_tree
from tests.launch import surveys

_CONFIGS = sorted(
  path.name
  for path in source_tree.ROOT.glob('launch/*.py')
  if '\nCONFIG = ' in path.read_text()
)
_READINGS = {
  'pretrain': whole_blocks.of_pretraining,
  'finetune': whole_blocks.of_finetuning,
}
_TABLE1 = ('launch/quickstart.py', '/train.jsonl', '/a/test.jsonl,/b.jsonl')


def _stages(recipe, *arguments, overrides=(), run_dir='/run', **flags):
  """Returns name -> stage of a recipe."""
  listed = runner.Recipe(run_dir, overrides)
  recipe.stages(listed, *arguments, **flags)
  return listed.stages


def _tables(**flags):
  return _stages(tables, '/model', '/squad', **flags)


def _check_lengths(config, max_block_wordpieces, *readings):
  """Raises UserError unless blocks of that length are read whole."""
  table = types.SimpleNamespace(
    manifest={'max_block_wordpieces': max_block_wordpieces},
    lengths=lambda: (np.array([0]), np.array([max_block_wordpieces - 3])),
  )
  for reading in readings:
    whole_blocks.check(table, config.lengths, reading(config))


class RecipesTest(parameterized.TestCase):
  def _finished_run(self):
    run_dir = self.create_tempdir().full_path
    for name in ('corpus', 'queries', 'start', 'realm', 'ict'):
      os.mkdir(os.path.join(run_dir, name))
    return run_dir

  def _all_stages(self):
    return [
      *_stages(quickstart).values(),
      *_tables(articles='/articles').values(),
      *_stages(open_qa, '/model', '/wiki', '/nq,/trec', layers=3).values(),
      *_stages(table1, *_TABLE1, run_dir=self._finished_run()).values(),
      *self._own_text(surveys.MIDDLE | surveys.QUESTIONS),
      *self._own_text(surveys.LARGE | surveys.QUESTIONS, has_encoder=True),
      *self._reader().values(),
    ]

  def _reader(self, **survey):
    folder = self.create_tempdir()
    folder.mkdir('encoder/params')
    survey = surveys.MIDDLE | survey
    folder.create_file('survey/survey.json', json.dumps(survey))
    run_dir, encoder = folder.full_path, f'{folder.full_path}/encoder'
    return _stages(reader, '/squad.json', run_dir=run_dir, encoder=encoder)

  def _own_text(self, survey, **flags):
    listed = surveys.recipe(
      self.create_tempdir().full_path,
      survey,
      {'model': 'qa'},
      questions='/questions.jsonl',
      test_questions='/test.jsonl',
      **flags,
    )
    return listed.stages.values()

  def test_the_binaries_accept_all_flags(self):
    cases = {}
    for stage in self._all_stages():
      for binary, flags in stage.runs:
        if not isinstance(binary, str):
          continue
        given = list(recipe_lib.arguments(flags | {'model_of': None}))
        # A wrong key is reported after the flags are checked.
        cases[binary, frozenset(flags)] = binary, [*given, '--set=no.key=1']
    self.assertGreater(len(cases), 15)
    calls = [*cases.values()]
    for result in forks.run_all(calls):
      self.assertEqual(result.code, 2)
      self.assertStartsWith(result.stderr, 'ERROR: Unknown config key `no.key`')

  @parameterized.parameters(*_CONFIGS)
  def test_a_config_reads_every_block_that_it_embeds_whole(self, name):
    config = config_files.load(f'launch/{name}')
    _check_lengths(config, config.lengths.block_tokens, *_READINGS.values())

  def test_blocks_are_cut_to_lengths_that_are_read_whole(self):
    corpora, num_read = {}, 0
    for stage in self._all_stages():
      if stage.action == 'make_blocks':
        corpora[stage.output] = stage.flags['max_block_wordpieces']
      elif stage.action in _READINGS and stage.flags['corpus_dir'] in corpora:
        length = corpora[stage.flags['corpus_dir']]
        self.assertEqual(stage.config.lengths.block_tokens, length)
        _check_lengths(stage.config, length, _READINGS[stage.action])
        num_read += 1
    self.assertGreaterEqual(num_read, 20)

  def test_rows_share_stages(self):
    stages = _tables(rows='realm,ict,bm25')
    trainings = [s.name for s in stages.values() if s.config is not None]
    self.assertCountEqual(trainings, ['ict', 'reader', 'realm'])
    # BM25 needs no index, and REALM has the refresher's.
    indexes = [n for n, s in stages.items() if s.action == 'build_index']
    self.assertEqual(indexes, ['index_ict'])
    self.assertIn('index_ict', stages['evaluate_ict_before'].needs)

    stages = _tables()  # Pre-training begins with its embedders' index.
    (_, refresher) = stages['realm'].runs[1]
    self.assertEqual(refresher['base'], stages['index_ict'].output)
    self.assertIn('index_ict', stages['realm'].needs)
    (_, refresher) = stages['realm_of_encoder'].runs[1]
    self.assertNotIn('base', refresher)

  def test_a_row_keeps_its_settings_and_takes_the_others_from_set(self):
    stages = _tables(
      rows='realm,ict_longer,realm_stale',
      overrides=[
        'pretraining.optimizer.num_steps=60',
        'pretraining.refresh_every_steps=20',
        'inverse_cloze.optimizer.num_steps=70',
        'seed=3',
      ],
    )
    configs = {name: stage.config for name, stage in stages.items()}
    self.assertEqual(configs['realm'].pretraining.optimizer.num_steps, 60)
    self.assertEqual(configs['realm'].pretraining.refresh_every_steps, 20)
    self.assertEqual(configs['reader'].pretraining.optimizer.num_steps, 700)
    stale = configs['realm_stale'].pretraining
    self.assertEqual(stale.refresh_every_steps, 2250)
    self.assertEqual(configs['ict'].inverse_cloze.optimizer.num_steps, 70)
    longer = configs['ict_longer'].inverse_cloze
    self.assertEqual(longer.optimizer.num_steps, 900)
    self.assertEqual({c.seed for c in configs.values() if c}, {3})

  def test_the_rate_of_a_reader_falls_with_its_steps(self):
    for number, steps, rate in (800, 300, 2e-4), (4800, 1800, 1e-4):
      config = self._reader(num_train_questions=number)['reader'].config
      optimizer = config.finetuning.optimizer
      self.assertEqual(optimizer.num_steps, steps)
      self.assertAlmostEqual(optimizer.learning_rate, rate)

  def test_only_embedders_of_trained_retrievers_keep_their_head(self):
    new = 'model.embedder.head=cls'
    rows = 'realm,encoder,realm_of_encoder'
    for keep_head, expected in (
      (False, {'ict', 'reader', 'realm'}),
      (True, set()),
    ):
      stages = _tables(rows=rows, keep_head=keep_head)
      found = {n for n, s in stages.items() if new in s.flags.get('set', [])}
      self.assertEqual(found, expected)

  def test_table1_makes_a_table_of_each_test_and_needs_a_finished_run(self):
    run_dir = self._finished_run()
    stages = _stages(
      table1, *_TABLE1, run_dir=run_dir, rows='path,hard_em,t5', name='hops'
    )
    self.assertEqual(
      stages['hops_all_test.json'].flags['rows'],
      'hops_path_test,hops_hard_em_test,hops_t5_test',
    )
    self.assertIn('hops_all_b.json', stages)
    self.assertEqual(
      stages['hops_path'].flags['init_from'], stages['hops_paths'].output
    )
    objectives = {
      n: s.config.finetuning.objective for n, s in stages.items() if s.config
    }
    self.assertEqual(objectives['hops_hard_em'], 'hard_em')
    self.assertEqual(objectives['hops_path'], 'marginal')
    with self.assertRaisesRegex(errors.UserError, 'Found no /run/corpus'):
      _stages(table1, *_TABLE1)

  def test_table1_takes_other_trainings_and_readers_of_the_run(self):
    run_dir = self._finished_run()
    stages = _stages(
      table1, *_TABLE1, run_dir=run_dir, rows='ict,own_reader,orqa'
    )
    for name, expected in (
      ('ict', ['ict', 'start']),
      ('orqa', ['ict', 'start']),
      ('own_reader', ['realm', 'realm']),
    ):
      flags = stages[f'table1_{name}'].flags
      starts = flags['init_from'], flags['reader_init_from']
      self.assertEqual([*map(os.path.basename, starts)], expected)

  @parameterized.parameters('realm,realm_bset', 'realm_other_text')
  def test_an_unknown_row_is_a_mistake(self, rows):
    with self.assertRaisesRegex(
      errors.UserError, rf'--rows must be some of \w+.* Found {rows}\. '
    ):
      _tables(rows=rows)


if __name__ == '__main__':
  absltest.main()
