"""Tests for launch.quickstart: what its stages are made from."""

from absl.testing import absltest

from launch import quickstart
from launch import runner
from launch import stage_keys

_RUN = 'runs/x'


def _stages(*overrides):
  recipe = runner.Recipe(_RUN, overrides)
  quickstart.stages(recipe)
  return recipe.stages


def _keys(stages):
  keys = {}
  for name, stage in stages.items():
    made = stage_keys.made_from(stage, _RUN, keys)
    keys[name] = stage_keys.key(made)
  return keys


def _changed(*overrides):
  old, new = _keys(_stages()), _keys(_stages(*overrides))
  return {name for name in old if old[name] != new[name]}


class QuickstartTest(absltest.TestCase):
  def test_a_seed_changes_training_and_not_the_texts(self):
    same = _stages().keys() - _changed('seed=1')
    self.assertEqual(
      same,
      {'world', 'corpus', 'practice', 'reader_queries', 'queries'}
      | {'1000_questions', 'evaluate_retrieval_bm25'},
    )

  def test_steps_of_fine_tuning_change_only_readers(self):
    changed = _changed('finetuning.optimizer.num_steps=9')
    self.assertContainsSubset(
      {'span_reader', 'qa_bm25_1000', 'report'}, changed
    )
    self.assertNoCommonElements(
      changed, {'ict', 'reader', 'realm', 'evaluate_retrieval_realm'}
    )

  def test_retrieval_is_shown_before_readers_are_trained(self):
    recipe = runner.Recipe(_RUN)
    quickstart.stages(recipe)
    (show,) = recipe.shows
    needs = set(show.needs)
    for name in reversed(recipe.stages):
      if name in needs:
        needs |= recipe.stages[name].needs
    self.assertNoCommonElements(needs, {'span_reader', 'qa_realm_all'})


if __name__ == '__main__':
  absltest.main()
