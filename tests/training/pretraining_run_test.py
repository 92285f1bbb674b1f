"""Tests for realm_tf.training.pretraining_run: what is published when."""

import dataclasses
import json
import os
import shutil

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.modeling import realm_model
from realm_tf.modeling import weights
from realm_tf.records import query_table
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.training import initial_params
from realm_tf.training import params_export
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
      [query_table.Query(ids, np.array([[0, 1]], np.int32))],
      self.queries_dir,
      query_table.QueriesInfo(
        tiny.TOKENIZER.vocabulary_sha256, 'salient', None, {}
      ),
    )

  def _run(
    self,
    num_steps=_NUM_STEPS,
    resume=False,
    init_from=initial_params.NOTHING,
    **changes,
  ):
    config = tiny.config()
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
      init_from,
      setup=setup_lib.Setup(resume=resume),
      fixed_search=lambda ids, k: np.tile(np.arange(k) % 4, [len(ids), 1]),
    )

  def _model_dir(self, name, value, parts):
    """Makes a model directory whose weights are all `value`."""
    inputs = runs.open_inputs(tiny.config(), self.corpus_dir)
    model = realm_model.RealmModel(inputs.config.model, parts)
    for variable in model.variables:
      variable.assign(tf.fill(variable.shape, value))
    path = os.path.join(os.path.dirname(self.corpus_dir), name)
    runs.start(path, inputs, setup_lib.ALONE)
    params_export.publish(path, 0, model)
    return path

  def _published(self):
    return versions.steps(layout.params_root(self.run_dir))

  def test_publishes_the_first_the_last_and_every_so_many_steps(self):
    self._run(refresh_every_steps=3)
    self.assertEqual(self._published(), [0, 3, _NUM_STEPS])

  def test_starts_from_the_embedders_of_one_and_the_reader_of_another(self):
    towers = [realm_model.EMBEDDER, realm_model.MASKED_LM]
    init_from = initial_params.InitFrom(
      self._model_dir('towers', 2.0, towers),
      self._model_dir('reader', 3.0, [realm_model.MASKED_LM]),
    )
    self._run(init_from=init_from)
    first = versions.version_path(layout.params_root(self.run_dir), 0)
    arrays = weights.read(layout.params_file(first))
    for name, value in arrays.items():
      is_tower = name.startswith(realm_model.EMBEDDER_PREFIXES)
      np.testing.assert_array_equal(value, 2.0 if is_tower else 3.0, name)
    self.assertIn('masked_lm/output_bias/bias', arrays)

  def test_a_stale_factor_publishes_as_much_more_seldom(self):
    self._run(refresh_every_steps=2, stale_factor=2)
    self.assertEqual(self._published(), [0, 4, _NUM_STEPS])

  def test_a_retriever_that_waits_stays_as_it_is(self):
    self._run(reader_only_steps=_NUM_STEPS)
    first, last = (
      weights.read(layout.params_file(version))
      for version in (
        versions.version_path(layout.params_root(self.run_dir), step)
        for step in (0, _NUM_STEPS)
      )
    )
    for name, value in first.items():
      # Nor does it decay; the reader learns.
      if name.startswith(realm_model.EMBEDDER_PREFIXES):
        np.testing.assert_array_equal(last[name], value, name)
    name = 'reader_bert/word_embeddings/embeddings'
    self.assertTrue((last[name] != first[name]).any())

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


if __name__ == '__main__':
  absltest.main()
