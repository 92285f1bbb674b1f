"""Tests for realm_tf.training.pretraining_run: what is published when."""

import dataclasses
import json
import os
import shutil
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.modeling import weights
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import held_out_queries
from realm_tf.training import loop
from realm_tf.training import pretraining_run
from realm_tf.training import runs
from realm_tf.training import setup as setup_lib
from tests import tiny

_NUM_STEPS = 5


class PretrainingRunTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    directory = self.create_tempdir().full_path
    self.run_dir = os.path.join(directory, 'run')
    self.corpus_dir = tiny.write_corpus(directory)
    self.queries_dir = os.path.join(directory, 'queries')
    ids = tiny.TOKENIZER.tokenize('a b . c d .').ids
    query_table.write_queries(
      [
        query_table.Query(ids, np.array([[0, 1]], np.int32), text=str(i))
        for i in range(8)
      ],
      self.queries_dir,
      query_table.QueriesInfo(
        tiny.TOKENIZER.vocabulary_sha256, 'salient', None, {}
      ),
    )

  def _run(
    self, num_steps=_NUM_STEPS, resume=False, share=0.0, best=None, **changes
  ):
    config = dataclasses.replace(
      tiny.config(), held_out=config_lib.HeldOutConfig(share, 3)
    )
    pretraining = dataclasses.replace(
      config.pretraining,
      optimizer=dataclasses.replace(
        config.pretraining.optimizer, num_steps=num_steps
      ),
      log_every_steps=1,
      **changes,
    )
    pretraining_run.run(
      runs.open_inputs(
        dataclasses.replace(config, pretraining=pretraining), self.corpus_dir
      ),
      self.queries_dir,
      self.run_dir,
      pretraining_run.Options(
        fixed_search=lambda ids, k: np.tile(np.arange(k) % 4, [len(ids), 1]),
        keep_best=best,
      ),
      setup_lib.Setup(resume=resume),
    )

  def _published(self):
    return versions.steps(layout.params_root(self.run_dir))

  def test_publishes_the_first_the_last_and_every_so_many_steps(self):
    self._run(refresh_every_steps=3)
    self.assertEqual(self._published(), [0, 3, _NUM_STEPS])

  def test_a_stale_factor_publishes_as_much_more_seldom(self):
    self._run(refresh_every_steps=2, stale_factor=2)
    self.assertEqual(self._published(), [0, 4, _NUM_STEPS])

  def test_a_resumed_run_makes_the_index_no_fresher(self):
    self._run(refresh_every_steps=2, stale_factor=2)
    # As after a crash at step 5, of which there is a checkpoint.
    shutil.rmtree(
      versions.version_path(layout.params_root(self.run_dir), _NUM_STEPS)
    )
    self._run(9, resume=True, refresh_every_steps=2, stale_factor=2)
    self.assertEqual(self._published(), [4, 8, 9])
    with open(layout.metrics_file(self.run_dir)) as file:
      steps = [json.loads(line)['step'] for line in file]
    self.assertEqual(steps, list(range(1, 10)))

  def _held_out(self):
    return self._rows(layout.held_out_file(self.run_dir))

  def _rows(self, path):
    with open(path) as file:
      return [json.loads(line) for line in file]

  def _weights(self, step):
    root = layout.params_root(self.run_dir)
    return weights.read(layout.params_file(versions.version_path(root, step)))

  def test_every_version_is_measured_on_held_out_queries(self):
    self._run(refresh_every_steps=2, share=0.5)
    rows = self._held_out()
    self.assertEqual([row['step'] for row in rows], [0, 2, 4, _NUM_STEPS])
    for row in rows:
      # Blocks 0 to 3 are found; the first has the masked 'a'.
      self.assertEqual(row['held_out_recall@1'], 1.0)
      self.assertLess(row['held_out_log_likelihood'], 0.0)
      self.assertBetween(row['held_out_p_null'], 0.0, 1.0)

  def test_measuring_leaves_training_as_it_is(self):
    self._run(refresh_every_steps=2, share=0.5)
    measured = self._weights(_NUM_STEPS)
    self.run_dir += '_unmeasured'
    with mock.patch.object(
      held_out_queries, 'choose', lambda *_: np.zeros(0, np.int64)
    ):
      self._run(refresh_every_steps=2, share=0.5)
    for name, value in self._weights(_NUM_STEPS).items():
      np.testing.assert_array_equal(value, measured[name])

  def test_keep_best_publishes_the_best_for_the_next_job(self):
    values = iter([1.0, 9.0, 2.0, 3.0, 4.0, 5.0])
    with mock.patch.object(
      held_out_queries.HeldOutQueries,
      'measure',
      lambda *_: dict.fromkeys(held_out_queries.METRICS, next(values)),
    ):
      self._run(refresh_every_steps=1, share=0.5, best='held_out_utility')
    newest = versions.newest(layout.params_root(self.run_dir))
    self.assertEqual(newest.step, _NUM_STEPS + 1)
    best, last = self._weights(1), self._weights(_NUM_STEPS)
    kept = self._weights(newest.step)
    for name, value in kept.items():
      np.testing.assert_array_equal(value, best[name])
    self.assertTrue(any((kept[name] != last[name]).any() for name in kept))

  def test_a_resumed_run_makes_the_same_choice(self):
    options = dict(
      refresh_every_steps=1,
      checkpoint_every_steps=2,
      share=0.5,
      best='held_out_log_likelihood',
    )
    self._run(**options)
    rows, whole_dir = self._held_out(), self.run_dir
    self.run_dir += '_killed'
    train = loop.Loop.train

    def killed(run_loop, until):
      if run_loop.step >= 3:
        raise KeyboardInterrupt
      train(run_loop, until)

    with (
      mock.patch.object(loop.Loop, 'train', killed),
      self.assertRaises(KeyboardInterrupt),
    ):
      self._run(**options)
    self._run(**options, resume=True)
    for found, expected in zip(self._held_out(), rows, strict=True):
      self.assertEqual(found['step'], expected['step'])
      for name, value in expected.items():
        self.assertAlmostEqual(found[name], value, 4)
    published = self._published()
    self.run_dir = whole_dir
    self.assertEqual(published[-1], self._published()[-1])

  def test_keep_best_needs_held_out_queries(self):
    with self.assertRaisesRegex(errors.UserError, 'held_out.share=0.0'):
      self._run(best='held_out_utility')
    self.assertFalse(os.path.exists(self.run_dir))


if __name__ == '__main__':
  absltest.main()
