"""Tests for realm_tf.index.refresher."""

import os
import shutil
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf.index import refresher
from realm_tf.index import storage
from realm_tf.run import layout
from realm_tf.run import versions
from tests.index import small


def _newest(steps):
  return (
    versions.Version(max(steps), f'/params/{max(steps)}') if steps else None
  )


class RefreshUntilDoneTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.exported = []  # Steps that the trainer has published so far.
    self.built = []  # Steps of the index versions that this process built.
    self.indexed = []  # Steps of all index versions on disk.
    self.begun = []  # Steps of unfinished index versions.

  def _build(self, params):
    self.assertEqual(params.path, f'/params/{params.step}')
    self.built.append(params.step)
    self.indexed.append(params.step)

  def _refresh(self, is_training_done, build=None, wait=None, failures=1):
    run = mock.Mock(
      next_params=lambda: _newest(self.exported),
      newest_index=lambda: _newest(self.indexed),
      unfinished_index=lambda: _newest(self.begun),
      is_training_done=is_training_done,
    )
    return refresher.refresh_until_done(
      run,
      build or self._build,
      wait or (lambda: self.fail('Nothing to wait for.')),
      failures,
    )

  def test_skips_stale_versions_and_builds_the_last(self):
    def build(params):
      self._build(params)
      self.exported.append(15)  # Training goes on.

    num_published = self._refresh(
      is_training_done=lambda: 15 in self.exported,
      build=build,
      wait=lambda: self.exported.extend([5, 10]),  # Both in one wait.
    )
    self.assertEqual(self.built, [10, 15])
    self.assertEqual(num_published, 2)

  def test_in_order_skips_no_version(self):
    directory = self.create_tempdir().full_path
    for root, step in ((layout.params_root, 5), (layout.params_root, 10)):
      versions.publish(root(directory), step, lambda path: None, {})

    def build(params):
      self._build(versions.Version(params.step, f'/params/{params.step}'))
      versions.publish(
        layout.index_root(directory), params.step, lambda path: None, {}
      )

    for in_order, expected in ((False, [10]), (True, [5, 10])):
      self.built = []
      shutil.rmtree(layout.index_root(directory), ignore_errors=True)
      run = refresher.RunDirectory(directory, 'corpus', in_order, once=True)
      refresher.refresh_until_done(run, build, lambda: None)
      self.assertEqual(self.built, expected)

  def test_version_made_while_training_ends_is_not_missed(self):
    # Fails if the two reads at the top of the loop are swapped.
    self.exported.append(5)

    def end_training():
      if self.built == [5]:
        self.exported.append(10)
      return bool(self.built)

    self._refresh(end_training)
    self.assertEqual(self.built, [5, 10])

  @parameterized.named_parameters(
    ('nothing_twice', [5, 10], [5, 10], []),
    ('what_is_newer', [5, 10], [5], [10]),
    # The newest parameters of the run directory were removed.
    ('nothing_older', [5], [10], []),
    ('step_zero', [0], [], [0]),
  )
  def test_a_restart_builds(self, exported, indexed, expected):
    self.exported, self.indexed = exported, indexed
    self.assertEqual(self._refresh(lambda: True), len(expected))
    self.assertEqual(self.built, expected)

  def test_a_begun_index_is_finished_before_a_newer_one(self):
    # Otherwise a job killed in every refresh would never publish an index.
    self.exported, self.begun = [5, 10], [5]

    def build(params):
      self._build(params)
      self.begun.clear()

    self._refresh(lambda: True, build=build)
    self.assertEqual(self.built, [5, 10])

  def test_a_begun_index_that_fails_is_given_up(self):
    self.exported, self.begun = [10], [5]

    def build(params):
      if params.step == 5:
        raise errors.UserError('Its parameters are damaged.')
      self._build(params)

    self._refresh(lambda: True, build, wait=lambda: None, failures=2)
    self.assertEqual(self.built, [10])

  def test_failures_in_a_row_end_the_job(self):
    self.exported = [5]
    self.tries = 0

    def build(params):
      self.tries += 1
      if self.tries == 2:  # Success resets the count.
        self.exported.append(10)
        self._build(params)
      elif self.tries == 1:
        raise tf.errors.UnavailableError(None, None, '')
      else:
        raise OSError('Disk full.')

    waits = []
    with self.assertRaisesRegex(errors.UserError, '/params/10 .*Disk full'):
      self._refresh(
        lambda: True, build, lambda: waits.append(self.tries), failures=3
      )
    self.assertEqual(self.tries, 5)
    self.assertEqual(waits, [1, 3, 4])  # One wait per failure.

  @parameterized.parameters(
    errors.UserError('Must hold. Found. Do.'), ZeroDivisionError()
  )
  def test_other_errors_are_raised_as_they_are(self, error):
    self.exported = [5]
    with self.assertRaises(type(error)) as caught:
      self._refresh(lambda: True, mock.Mock(side_effect=error))
    self.assertIs(caught.exception, error)


class RunDirectoryTest(absltest.TestCase):
  def test_finds_the_newest_begun_index(self):
    run = refresher.RunDirectory(self.create_tempdir().full_path, 'c' * 64)
    root, model = layout.index_root(run.path), small.model()
    path_of = lambda step: versions.version_path(root, step)
    plan = storage.make_plan(small.CONFIG, model, 'c' * 64, 10)
    self.assertIsNone(run.unfinished_index())
    os.makedirs(path_of(1500))  # Only a directory yet.
    self.assertIsNone(run.unfinished_index())
    for step in (500, 1000):
      storage.begin(path_of(step), plan, model)
    # A version of another corpus is ignored.
    other = plan._replace(corpus_fingerprint='d' * 64)
    storage.begin(path_of(2000), other, model)
    newest = versions.Version(1000, path_of(1000))
    self.assertEqual(run.unfinished_index(), newest)
    versions.seal(path_of(1000), 1000, {}, {})
    self.assertIsNone(run.unfinished_index())


if __name__ == '__main__':
  absltest.main()
