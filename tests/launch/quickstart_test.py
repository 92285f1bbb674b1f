"""Tests for launch.quickstart: what its stages are made from."""

from absl.testing import absltest

from launch import quickstart
from launch import runner
from launch import stage_records

_RUN = 'runs/x'


def _recipe(*overrides, compare=True):
  recipe = runner.Recipe(_RUN, overrides)
  quickstart.stages(recipe, compare=compare)
  return recipe


def _changed(*overrides):
  """Returns the names of the stages whose sources, or needs, change."""
  changed = set()
  for (name, old), new in zip(
    _recipe().stages.items(), _recipe(*overrides).stages.values(), strict=True
  ):
    keys = dict.fromkeys(old.needs, '')
    sources = [
      stage_records.made_from(each, _RUN, keys, {}) for each in (old, new)
    ]
    if sources[0] != sources[1] or old.needs & changed:
      changed.add(name)
  return changed


class QuickstartTest(absltest.TestCase):
  def test_a_seed_changes_training_and_not_the_texts(self):
    same = {'world', 'corpus', 'practice', 'reader_queries', 'queries'}
    same |= {'1000_questions', 'evaluate_retrieval_bm25'}
    self.assertEqual(_recipe().stages.keys() - _changed('seed=1'), same)

  def test_steps_of_fine_tuning_change_only_readers(self):
    changed = _changed('finetuning.optimizer.num_steps=9')
    self.assertContainsSubset(
      {'span_reader', 'qa_bm25_1000', 'report'}, changed
    )
    self.assertNoCommonElements(
      changed, {'ict', 'reader', 'realm', 'evaluate_retrieval_realm'}
    )

  def test_a_comparison_after_a_short_run_runs_only_the_rest(self):
    short, whole = (_recipe(compare=each).stages for each in (False, True))
    self.assertLess(len(short), len(whole) / 2)
    for name, stage in short.items():
      self.assertEqual(
        stage_records.made_from(
          stage, _RUN, dict.fromkeys(stage.needs, ''), {}
        ),
        stage_records.made_from(
          whole[name], _RUN, dict.fromkeys(whole[name].needs, ''), {}
        ),
      )
    names = ('report', 'qa_ict_all', 'qa_bm25_1000', 'changed_answer')
    self.assertNoCommonElements(short, names)
    self.assertContainsSubset(names, whole)

  def test_a_table_has_a_row_for_each_system(self):
    stages = _recipe().stages
    for name, num_systems in (('unseen_results', 3), ('comparison', 4)):
      for row in stages[name].flags['rows']:
        self.assertLen(row.split(','), num_systems)
        self.assertEqual(row.count('='), num_systems)

  def test_search_comes_before_readers_and_the_page_before_measures(self):
    recipe = _recipe(compare=False)
    needs = []
    for show in recipe.shows:
      needs.append(set(show.needs))
      for name in reversed(recipe.stages):
        if name in needs[-1]:
          needs[-1] |= recipe.stages[name].needs
    search, page = needs
    self.assertNoCommonElements(search, {'span_reader', 'qa_realm_all'})
    self.assertContainsSubset(
      {'calibration', 'qa_realm_all_index', 'realm.json'}, page
    )
    measures = {n for n in page - search if n.startswith('evaluate')}
    self.assertEmpty(measures)


if __name__ == '__main__':
  absltest.main()
