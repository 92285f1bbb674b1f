"""Tests for realm_tf.training.finetuning."""

import contextlib
import os
from unittest import mock

from absl.testing import absltest
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import loading
from realm_tf.retrieval import device_retriever
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import finetuning
from realm_tf.training import job
from realm_tf.training import loop
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

  def _run(self, name, questions=_QUESTIONS, judge=None, **changes):
    config = tiny.config(
      finetuning={'batch_size': 3, 'log_every_steps': 1, **changes}
    )
    inputs = job.open_inputs(config, self.corpus_dir)
    run_dir = os.path.join(self.directory, name)
    options = {'exact_match': judge(inputs)} if judge else {}
    with contextlib.nullcontext() if judge else tiny.eagerly():
      finetuning.run(inputs, questions, job.Job(run_dir), **options)
    return run_dir

  def _rows(self, run_dir):
    return tiny.read_rows(layout.metrics_file(run_dir))

  def test_learns_the_answers_of_its_questions(self):
    for objective, supervision in (('marginal', 'gold'), ('hard_em', 'answer')):
      rows = self._rows(
        self._run(
          objective,
          optimizer=_TWELVE_STEPS,
          objective=objective,
          supervision=supervision,
        )
      )
      self.assertLess(rows[-1]['loss'], rows[0]['loss'] - 0.1)
      self.assertEqual(rows[0]['answer_in_searched_blocks'], 100)

  def test_questions_embedded_on_devices_find_the_same_blocks(self):
    expected = self._rows(self._run('host'))
    with mock.patch.object(device_retriever, 'is_used', lambda strategy: True):
      rows = self._rows(self._run('devices'))
    for row, each in zip(rows, expected, strict=True):
      self.assertAlmostEqual(row['loss'], each['loss'], 4)

  def test_regular_expressions_are_trained_on(self):
    rows = self._rows(
      self._run(
        'regex', _QUESTIONS[2:], optimizer=_TWELVE_STEPS, read_titles=True
      )
    )
    self.assertGreater(rows[0]['answer_in_read_blocks'], 0)
    self.assertLess(rows[-1]['loss'], rows[0]['loss'])

  def test_the_best_parameters_are_published_with_their_index(self):
    never = [questions_lib.Question('a', ('no such answer',))]
    judge = lambda inputs: loading.Validator(
      never, inputs.table, inputs.tokenizer, inputs.config
    )
    run_dir = self._run('judged', judge=judge, judge_every_steps=1)
    rows = tiny.read_rows(layout.dev_metrics_file(run_dir))
    self.assertEqual(
      rows, [{'step': step, 'exact_match': 0.0} for step in (1, 2, 3, 4)]
    )
    # The first of equal scores.
    self.assertEqual(versions.newest(layout.params_root(run_dir)).step, 1)
    self.assertTrue(os.path.exists(layout.done_file(run_dir)))
    # Loading refuses an index of other parameters.
    answerer = loading.load_answerer(run_dir, self.corpus_dir)
    self.assertLen(answerer.answer(['a b ?']), 1)


class _Loop(loop.Loop):
  """A loop that trains nothing."""

  step, num_steps = 0, 10

  def __init__(self, run_dir, step):
    self.run_dir, self.step = run_dir, step

  def train(self, until, batches):
    self.step = until

  def save(self):
    pass

  def finish(self):
    pass

  def publish(self):
    return job.publish(self.run_dir, self.step, tf.Module())


class TrainJudgedTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.judged = []

  def _run(self, *scores, step=0):
    """Runs until the scores of the next steps end, as if it were killed."""
    run_loop, left = _Loop(self.run_dir, step), list(scores)

    def judge():
      if not left:
        raise InterruptedError
      self.judged.append(run_loop.step)
      return left.pop(0)

    with contextlib.suppress(InterruptedError):
      finetuning.train_judged(
        run_loop, job.Job(self.run_dir), judge, 2, iter([])
      )

  def _assert_ends(self, judged, best):
    self.assertEqual(self.judged, judged)
    root = layout.params_root(self.run_dir)
    path = versions.version_path(root, best)
    self.assertEqual(os.listdir(root), [os.path.basename(path)])
    rows = tiny.read_rows(layout.dev_metrics_file(self.run_dir))
    self.assertEqual([row['step'] for row in rows], [2, 4, 6, 8, 10])
    return rows

  def test_the_newest_parameters_are_the_best(self):
    self._run(5.0, 7.0, 6.0, 7.0, 1.0)
    rows = self._assert_ends([2, 4, 6, 8, 10], 4)  # The first of equal scores.
    self.assertEqual(rows[1], {'step': 4, 'exact_match': 7.0})

  def test_a_resumed_run_measures_no_step_twice(self):
    self._run(5.0, 7.0, 6.0)
    with open(layout.dev_metrics_file(self.run_dir), 'a') as file:
      file.write('{"step": 8, "exa')  # Killed while it wrote.
    self._run(3.0, 1.0, step=6)
    self._assert_ends([2, 4, 6, 8, 10], 4)

  def test_measurements_after_the_checkpoint_are_repeated(self):
    self._run(5.0, 7.0, 8.0)
    self._run(8.0, 3.0, 1.0, step=4)
    self._assert_ends([2, 4, 6, 6, 8, 10], 6)


if __name__ == '__main__':
  absltest.main()
