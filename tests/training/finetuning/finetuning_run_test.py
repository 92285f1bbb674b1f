"""Tests for realm_tf.training.finetuning.finetuning_run."""

import os

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf.answering import loading
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import validation
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import job
from realm_tf.training import runs
from realm_tf.training.finetuning import finetuning_run
from tests import tiny

_TWELVE_STEPS = config_lib.OptimizerConfig(3e-2, 12)
_QUESTIONS = (
  questions_lib.Question('a b ?', ('c',), gold_id='first'),
  questions_lib.Question('f', ('e',)),
  questions_lib.Question('d', ('[ac]',), regex=True),
)


class FinetuningRunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.corpus_dir = tiny.write_corpus(self.directory)

  def _run(self, name, questions=_QUESTIONS, options=None, **changes):
    config = tiny.config(
      finetuning={'batch_size': 3, 'log_every_steps': 1, **changes}
    )
    inputs = runs.open_inputs(config, self.corpus_dir)
    run_dir = os.path.join(self.directory, name)
    options = options(inputs) if options else {}
    finetuning_run.run(inputs, questions, job.Job(run_dir), **options)
    return run_dir

  def _rows(self, run_dir):
    return tiny.read_rows(layout.metrics_file(run_dir))

  def test_learns_the_answers_of_its_questions(self):
    for objective in ('marginal', 'hard_em'):
      for supervision in ('answer', 'gold'):
        name = f'{objective}_{supervision}'
        rows = self._rows(
          self._run(
            name,
            optimizer=_TWELVE_STEPS,
            objective=objective,
            supervision=supervision,
          )
        )
        self.assertLess(rows[-1]['loss'], rows[0]['loss'] - 0.1)
        self.assertEqual(rows[0]['answer_in_searched_blocks'], 100)

  def test_regular_expressions_are_trained_on(self):
    rows = self._rows(
      self._run(
        'regex', _QUESTIONS[2:], optimizer=_TWELVE_STEPS, read_titles=True
      )
    )
    self.assertGreater(rows[0]['answer_in_read_blocks'], 0)
    self.assertLess(rows[-1]['loss'], rows[0]['loss'])

  def test_the_best_parameters_are_published_with_their_index(self):
    scores = {2: 7.0, 4: 5.0}
    judged = []

    def options(_):
      def score(model, index):
        judged.append(index.path)
        return scores[2 * len(judged)]

      return {'exact_match': score}

    run_dir = self._run(
      'best', options=options, judge_every_steps=2, freeze_block_tower=False
    )
    self.assertLen(judged, 2)
    self.assertEqual(versions.newest(layout.params_root(run_dir)).step, 2)
    self.assertTrue(os.path.exists(layout.done_file(run_dir)))
    # Loading refuses an index of other parameters.
    answerer = loading.load_answerer(run_dir, self.corpus_dir)
    self.assertLen(answerer.answer(['a b ?']), 1)

  def test_judged_by_exact_match_with_patience(self):
    def options(inputs):
      never = [questions_lib.Question('a', ('no such answer',))]
      return {
        'exact_match': validation.Validator(
          never, inputs.table, inputs.tokenizer, inputs.config
        )
      }

    run_dir = self._run(
      'stopped', options=options, judge_every_steps=1, patience=2
    )
    self.assertEqual(self._rows(run_dir)[-1]['step'], 3)
    rows = tiny.read_rows(layout.dev_metrics_file(run_dir))
    self.assertEqual(
      rows, [{'step': step, 'exact_match': 0.0} for step in (1, 2, 3)]
    )
    self.assertEqual(versions.newest(layout.params_root(run_dir)).step, 1)


if __name__ == '__main__':
  absltest.main()
