"""Tests for realm_tf.training.inverse_cloze_run."""

import os
import types
from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.run import layout
from realm_tf.training import inverse_cloze_run
from realm_tf.training import job
from tests import tiny

_WORDS = tf.eye(tiny.TOKENIZER.vocab_size)
_FULL_STOP = tiny.TOKENIZER.tokenize('.').ids[0]


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

  def test_held_out_articles_are_measured_before_and_after(self):
    config = _config(batch_size=2, remove_rate=0.0)
    run_dir = self._run('run', tiny.changed(config, held_out={'share': 0.7}))
    before, after = tiny.read_rows(layout.held_out_file(run_dir))
    self.assertEqual((before['step'], after['step']), (0, 4))
    for measured in (before, after):
      self.assertBetween(measured['held_out_accuracy'], 0, 1)
      self.assertBetween(measured['held_out_accuracy_left_in'], 0, 1)

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


def _embed(batch, training):
  """Counts the words of a text: common words of two texts give the score."""
  assert not training
  counted = (
    tf.reduce_sum(tf.gather(_WORDS, batch[name]), axis=1)
    * tf.constant(np.arange(_WORDS.shape[0]) > _FULL_STOP, tf.float32)
    for name in ('query_ids', 'body_ids')
  )
  return tuple(counted)


class HeldOutClozeTest(absltest.TestCase):
  def test_words_find_the_block_with_the_sentence_left_in(self):
    inputs = mock.Mock(
      spec=job.Inputs,
      config=tiny.config(),
      table=tiny.open_corpus(self.create_tempdir().full_path),
      ordinary_ids=np.arange(5, 12, dtype=np.int32),
    )
    found = inverse_cloze_run.measure(
      inputs, types.SimpleNamespace(embed=_embed), np.array([0, 1])
    )
    # 'a b. c d.' and 'e f. a c.': a block with its sentence left in has both
    # words. With the sentence cut out, it has none, and the other at most one.
    self.assertEqual(found['held_out_accuracy_left_in'], 1.0)
    self.assertLess(found['held_out_accuracy'], 1.0)


if __name__ == '__main__':
  absltest.main()
