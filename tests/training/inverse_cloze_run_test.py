"""Tests for realm_tf.training.inverse_cloze_run."""

import os
import types

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.run import layout
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job
from tests import tiny


def _config(**changes):
  """Returns a config with scores far from 0, for fast learning."""
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
    self.corpus_dir = tiny.write_corpus(self.directory)

  def _run(self, name, config, questions=()):
    run_dir = os.path.join(self.directory, name)
    inputs = job.open_inputs(config, self.corpus_dir)
    inverse_cloze_run.run(inputs, questions, job.Job(run_dir))
    return run_dir

  def _assert_chunks_are_equal(self, questions):
    """Compares a run in chunks with a run without; returns its losses."""
    runs_of_losses = []
    for chunk_size in (0, 2):
      config = _config(batch_size=4, chunk_size=chunk_size)
      run_dir = self._run(str(chunk_size), config, questions)
      rows = tiny.read_rows(layout.metrics_file(run_dir))
      runs_of_losses.append([row['loss'] for row in rows])
    np.testing.assert_allclose(*runs_of_losses, rtol=0, atol=5e-6)
    return runs_of_losses[0]

  def test_a_run_in_chunks_equals_a_run_without(self):
    losses = self._assert_chunks_are_equal([])
    self.assertLen(losses, 4)
    self.assertNotAlmostEqual(losses[0], losses[3], 3)

  def test_learns_from_questions_with_and_without_chunks(self):
    table = block_table.BlockTable.open(self.corpus_dir)
    ids = range(table.num_blocks)
    losses = self._assert_chunks_are_equal(
      [
        questions_lib.Question(text[:3], (text[:1],), gold_id=article_id)
        for text, article_id in zip(table.texts(ids), table.article_ids(ids))
      ]
    )
    self.assertLess(losses[-1], losses[0] - 0.1)

  def test_questions_without_a_block_leave_no_run_directory(self):
    question = questions_lib.Question('a ?', ('zz',), gold_id='first')
    with self.assertRaisesRegex(errors.UserError, 'Found none of 1 answers'):
      self._run('run', _config(), [question])
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'run')))

  def test_a_part_that_is_not_whole_chunks_is_a_user_error(self):
    # A batch of 8 is 2 chunks of 4, but a quarter of it is half a chunk.
    inputs = job.Inputs(
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
