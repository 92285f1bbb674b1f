"""Tests for realm_tf.training.inverse_cloze.inverse_cloze_run."""

import json
import os
import types

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.training import job
from realm_tf.training import runs
from realm_tf.training.inverse_cloze import inverse_cloze_run
from tests import tiny


def _config(**changes):
  """Returns a config with scores far from 0, from which it learns fast."""
  return tiny.config(
    model={
      'embedder_bert': {'initializer_range': 0.5},
      'embedder': {'score_scale': 100.0},
    },
    inverse_cloze=changes,
  )


class InverseClozeRunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path

  def _losses(self, corpus_dir, chunk_size, questions=()):
    inputs = runs.open_inputs(
      _config(batch_size=4, chunk_size=chunk_size), corpus_dir
    )
    run_dir = f'{self.directory}/{chunk_size}'
    inverse_cloze_run.run(inputs, questions, job.Job(run_dir))
    return [row['loss'] for row in tiny.read_rows(layout.metrics_file(run_dir))]

  def test_a_run_in_chunks_is_the_run_at_once(self):
    corpus_dir = tiny.write_corpus(self.directory)
    expected = self._losses(corpus_dir, 0)
    self.assertLen(expected, 4)
    self.assertNotAlmostEqual(expected[0], expected[3], 3)
    for loss, value in zip(self._losses(corpus_dir, 2), expected, strict=True):
      self.assertAlmostEqual(loss, value, 5)

  def test_held_out_articles_are_measured_before_and_after(self):
    corpus_dir = tiny.write_corpus(self.directory)
    config = _config(batch_size=2, remove_rate=0.0)
    config = tiny.changed(config, held_out={'share': 0.7})
    run_dir = f'{self.directory}/held_out'
    inverse_cloze_run.run(
      runs.open_inputs(config, corpus_dir), [], job.Job(run_dir)
    )
    with open(layout.held_out_file(run_dir)) as file:
      before, after = map(json.loads, file)
    self.assertEqual((before['step'], after['step']), (0, 4))
    for measured in (before, after):
      # Of the words that a query has, its block with the sentence has all.
      self.assertBetween(measured['held_out_accuracy'], 0, 1)
      self.assertBetween(measured['held_out_accuracy_left_in'], 0, 1)

  def test_learns_from_questions_in_chunks_as_at_once(self):
    corpus_dir = tiny.write_corpus(self.directory)
    table = block_table.BlockTable.open(corpus_dir)
    questions = [
      questions_lib.Question(text[:3], (text[:1],), gold_id=article_id)
      for text, article_id in zip(
        table.texts(range(table.num_blocks)),
        table.article_ids(range(table.num_blocks)),
      )
    ]
    expected = self._losses(corpus_dir, 0, questions)
    self.assertLess(expected[-1], expected[0] - 0.1)
    losses = self._losses(corpus_dir, 2, questions)
    for loss, value in zip(losses, expected, strict=True):
      self.assertAlmostEqual(loss, value, 5)

  def test_questions_without_a_block_leave_no_run_behind(self):
    corpus_dir = tiny.write_corpus(self.directory)
    question = questions_lib.Question('a ?', ('zz',), gold_id='first')
    with self.assertRaisesRegex(errors.UserError, 'Found none of 1 answers'):
      self._losses(corpus_dir, 0, [question])
    self.assertFalse(os.path.exists(f'{self.directory}/0'))

  def test_a_part_that_is_not_whole_chunks_is_a_user_error(self):
    # A batch of 8 is 2 chunks of 4; a quarter of it is none.
    inputs = runs.Inputs(
      _config(batch_size=8, chunk_size=4), '', None, None, (), None
    )
    four = types.SimpleNamespace(num_replicas_in_sync=4, cluster_resolver=None)
    with self.assertRaisesRegex(
      errors.UserError, 'Found 2 examples on each of 4 replicas, and .*size=4'
    ):
      inverse_cloze_run.run(inputs, [], job.Job(self.directory, devices=four))

  def test_a_batch_that_is_not_whole_chunks_is_no_config(self):
    with self.assertRaisesRegex(ValueError, 'batch_size=8, chunk_size=3'):
      _config(batch_size=8, chunk_size=3)
    with self.assertRaisesRegex(ValueError, 'chunk_size=-1'):
      _config(batch_size=8, chunk_size=-1)


if __name__ == '__main__':
  absltest.main()
