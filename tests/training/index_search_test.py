"""Tests for realm_tf.training.index_search, without threads."""

import os
import shutil
import tempfile
from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.data import sampling
from realm_tf.index import embedding
from realm_tf.index import index_builder
from realm_tf.index import storage
from realm_tf.model import realm_model
from realm_tf.retrieval import device_retriever
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import index_search
from realm_tf.training import job
from tests import fakes
from tests import tiny
from tests.index import small

_LENGTHS = (3, 30, 12, 7, 20, 9, 15, 5, 25, 11, 4, 18)
_K = 5
_MODEL_OF_STEP = {0: 0, 500: 1, 1000: 0}
_QUERIES = np.array([[5, 9, 17, 0], [8, 8, 0, 0], [19, 6, 7, 11]], np.int32)


def _find(search, k=_K):
  return search.retrieve(interfaces.Queries(_QUERIES, list), k).block_ids


class _Searches(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.directory = tempfile.mkdtemp()
    cls.addClassCleanup(shutil.rmtree, cls.directory)
    cls.table = small.open_corpus(cls.directory, _LENGTHS)
    cls.models = [small.model(seed) for seed in range(3)]
    cls.embeddings, cls.scores = zip(*map(cls._exact_scores, cls.models))
    for step, model in _MODEL_OF_STEP.items():
      index_builder.IndexBuilder(
        cls.table,
        small.CONFIG,
        small.SPECIAL_IDS,
        small.TOKENIZER.mask_id,
        cls.models[model],
      ).build(step, os.path.join(cls.directory, 'made'))

  @classmethod
  def _exact_scores(cls, model):
    """Returns a model's embeddings of all blocks, and scores, [B, N]."""
    embeddings = small.embed_all(cls.table, model)
    queries = embedding.compile_queries(
      model, small.CONFIG.lengths.query_tokens, small.SPECIAL_IDS
    )(_QUERIES)
    return embeddings, queries @ embeddings.T

  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path

  def _index_search(self, first_step=0, config=small.CONFIG, **changes):
    config = tiny.changed(config, pretraining=changes)
    inputs = job.Inputs(config, self.table, small.TOKENIZER, None)
    return index_search.IndexSearch(
      inputs,
      self.run_dir,
      strategy=tf.distribute.get_strategy(),
      submit=fakes.in_foreground,
      wait=lambda: None,
      share=sampling.Share(first_step=first_step),
    )

  def _searching(self):
    """Publishes and searches index 0; returns the search and its directory."""
    path = self._publish(0)
    search = self._index_search()
    self._assert_like(search, 0)
    return search, path

  def _pinned(self, first_step):
    return self._index_search(
      first_step,
      pin_index=True,
      refresh_every_steps=500,
      checkpoint_every_steps=500,
    )

  def _publish(self, step):
    """Publishes the index of a step, from the model of _MODEL_OF_STEP."""
    path = versions.version_path(layout.index_root(self.run_dir), step)
    made = versions.version_path(os.path.join(self.directory, 'made'), step)
    return shutil.copytree(made, path)

  def _exact(self, model):
    """Returns the best blocks of one model's embeddings."""
    return np.argsort(-self.scores[model], axis=1)[:, :_K]

  def _assert_like(self, search, model):
    np.testing.assert_array_equal(_find(search), self._exact(model))


class IndexSearchTest(_Searches):
  def test_each_index_is_searched_with_its_own_parameters(self):
    search, _ = self._searching()
    self._publish(500)
    self._assert_like(search, 0)  # Loads index 500 and still searches index 0.
    self.assertEqual(search.step, 0)
    self._assert_like(search, 1)
    self.assertEqual(search.step, 500)
    self._publish(1000)
    _find(search)
    self._assert_like(search, 0)
    self.assertEqual(search.step, 1000)

  def test_normalized_embeddings_have_the_temperature_of_the_index(self):
    config = tiny.changed(small.CONFIG, model={'embedder': {'normalize': True}})
    model = realm_model.RealmModel(config.model, [realm_model.EMBEDDER])
    model.log_temperature.assign(-1.0)
    index_builder.IndexBuilder(
      self.table, config, small.SPECIAL_IDS, small.TOKENIZER.mask_id, model
    ).build(0, layout.index_root(self.run_dir))
    search = self._index_search(config=config)
    found = search.retrieve(interfaces.Queries(_QUERIES, list), _K)
    _, scores = self._exact_scores(model)
    expected = -np.sort(-scores, axis=1)[:, :_K]
    np.testing.assert_allclose(found.scores, expected, rtol=0.02)

  def test_a_pinned_index_follows_from_the_step(self):
    for step in (0, 500, 1000):
      self._publish(step)  # Newer versions exist all the time.
    # Index 0 for the steps up to 999, then the previous period's index.
    for step, expected in ((499, 0), (999, 0), (1000, 500), (1500, 1000)):
      search = self._pinned(step)
      self._assert_like(search, _MODEL_OF_STEP[expected])
      self.assertEqual(search.step, expected)
    search = self._pinned(999)  # Calls are for one step after the other.
    for expected in (0, 500):
      _find(search)
      self.assertEqual(search.step, expected)

  def test_a_pinned_index_that_was_removed_is_a_user_error(self):
    self._publish(1000)
    search = self._pinned(1000)
    with self.assertRaisesRegex(errors.UserError, 'the index of step 500'):
      _find(search)

  def test_a_damaged_version_is_refused_by_the_name_of_its_file(self):
    search, _ = self._searching()
    damaged = layout.params_file(self._publish(500))
    with open(damaged, 'r+b') as file:
      file.seek(-1, os.SEEK_END)
      last = file.read(1)[0]
      file.seek(-1, os.SEEK_END)
      file.write(bytes([last ^ 1]))
    with self.assertLogs(level='ERROR') as logs:
      _find(search)
    self.assertIn(damaged, logs.output[0])
    self._assert_like(search, 0)
    self.assertEqual(search.step, 0)

  def test_a_deleted_version_stays_in_use(self):
    search, path = self._searching()
    shutil.rmtree(path)
    self._assert_like(search, 0)
    self._publish(500)
    _find(search)
    self._assert_like(search, 1)

  def test_a_version_that_is_removed_while_it_loads_is_refused(self):
    search, _ = self._searching()
    vanishing = self._publish(500)

    def load(path, *_, **unused):
      shutil.rmtree(path)
      raise RuntimeError('no such file')

    with (
      mock.patch.object(storage, 'open_version', load),
      self.assertLogs(level='ERROR') as logs,
    ):
      _find(search)
    self.assertIn(vanishing, logs.output[0])
    self._assert_like(search, 0)

  def test_an_error_on_an_intact_version_is_raised(self):
    self._publish(0)
    error = RuntimeError('a mistake in the program')
    with (
      mock.patch.object(storage, 'open_version', side_effect=error),
      self.assertRaisesRegex(RuntimeError, 'a mistake'),
    ):
      _find(self._index_search())

  def test_declares_what_it_uses(self):
    search, _ = self._searching()
    self._publish(500)
    _find(search)
    self.assertEqual(versions.read_in_use(self.run_dir), [0, 500])
    _find(search)
    self.assertEqual(versions.read_in_use(self.run_dir), [500])


class DeviceIndexSearchTest(_Searches):
  """On the devices of a strategy."""

  test_each_index_is_searched_with_its_own_parameters = (
    IndexSearchTest.test_each_index_is_searched_with_its_own_parameters
  )

  def setUp(self):
    super().setUp()
    self.enter_context(
      mock.patch.object(device_retriever, 'is_used', lambda strategy: True)
    )

  def test_both_slots_compile_before_the_first_search(self):
    self._publish(0)
    search = self._index_search()
    begun = []
    begin = device_retriever.DeviceRetriever.begin

    def count(retriever, *arguments):
      begun.append(retriever)
      return begin(retriever, *arguments)

    with mock.patch.object(device_retriever.DeviceRetriever, 'begin', count):
      _find(search)
      _find(search)
    first, second, *searches = begun
    self.assertIsNot(first, second)
    self.assertEqual(searches, [first, first])


if __name__ == '__main__':
  absltest.main()
