"""Tests for realm_tf.serving.live_model, with models that are strings."""

import os
import threading

from absl.testing import absltest
import tensorflow as tf

from realm_tf import errors
from realm_tf.rundir import layout
from realm_tf.rundir import versions
from realm_tf.serving import live_model


class LiveModelTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.found = live_model.Found(1, 1)
    self.error, self.loads, self.adopted, self.observed = None, 0, [], []
    self.live = live_model.LiveModel(
      lambda: self.found, self._load, self._adopt, self.observed.append
    )

  def _load(self):
    self.loads += 1
    if self.error:
      raise self.error
    return f'model {self.loads}'

  def _adopt(self, new, old):
    self.adopted.append((new, old, self.live.lock.locked()))

  def test_nothing_new_costs_no_load(self):
    self.assertEqual(self.live.current, 'model 1')
    self.assertFalse(self.live.check())
    self.assertEqual(self.loads, 1)

  def test_swaps_to_newer_parameters_and_to_a_newer_index(self):
    for i, found in enumerate([(2, 1), (2, 2)], start=2):
      self.found = live_model.Found(*found)
      self.assertTrue(self.live.check())
      self.assertEqual(self.live.current, f'model {i}')
      self.assertEqual(self.live.found, found)
    self.assertEqual(self.observed, ['loaded', 'loaded'])

  def test_what_was_changed_is_adopted_before_the_swap(self):
    self.found = live_model.Found(2, 1)
    self.live.check()
    self.assertEqual(
      self.adopted,
      [('model 2', 'model 1', False), ('model 2', 'model 1', True)],
    )

  def test_what_cannot_be_loaded_is_refused_once(self):
    self.found = live_model.Found(2, 1)
    self.error = errors.UserError('Damaged.')
    self.assertFalse(self.live.check())
    self.assertFalse(self.live.check())
    self.assertEqual((self.live.current, self.loads), ('model 1', 2))
    self.assertEqual(self.observed, ['refused'])
    self.found, self.error = live_model.Found(2, 2), None
    self.assertTrue(self.live.check())

  def test_a_directory_that_cannot_be_read_is_looked_at_again(self):
    def find():
      raise tf.errors.UnavailableError(None, None, 'Gone.')

    self.live._find = find
    self.assertFalse(self.live.check())
    self.assertEqual(self.live.current, 'model 1')

  def test_watches_until_it_is_closed(self):
    self.found = live_model.Found(2, 1)
    swapped = threading.Event()
    self.live._observe = lambda result: swapped.set()
    self.live.watch(0.001)
    self.assertTrue(swapped.wait(30))
    self.live.close()
    self.assertEqual(self.live.current, 'model 2')


class FindTest(absltest.TestCase):
  def test_finds_the_newest_complete_versions(self):
    path = self.create_tempdir().full_path
    self.assertEqual(live_model.find(path), (-1, -1))
    for root, step in (
      (layout.params_root(path), 5),
      (layout.index_root(path), 3),
      (layout.index_root(path), 4),
    ):
      versions.publish(root, step, lambda directory: None, {})
    os.makedirs(versions.version_path(layout.index_root(path), 9))
    self.assertEqual(live_model.find(path), (5, 4))
    other = versions.version_path(layout.index_root(path), 3)
    self.assertEqual(live_model.find(path, other), (5, -1))
    self.assertEqual(live_model.find(path, layout.params_root(path)), (5, 5))


if __name__ == '__main__':
  absltest.main()
