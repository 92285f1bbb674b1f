"""Tests for realm_tf.refresh.refresher."""

from absl.testing import absltest

from realm_tf.refresh import refresher
from realm_tf.rundir import versions


def _params(step):
  return versions.Version(step, f'/params/{step}')


class RefreshUntilDoneTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.exported = []  # Steps that the trainer has published so far.
    self.built = []  # Steps of the index versions that this process built.
    self.indexed = []  # Steps of all index versions on disk.

  def _newest(self, steps):
    return _params(max(steps)) if steps else None

  def _build(self, params):
    self.assertEqual(params.path, f'/params/{params.step}')
    self.built.append(params.step)
    self.indexed.append(params.step)

  def _refresh(self, is_training_done, build=None, wait=None):
    return refresher.refresh_until_done(
      newest_params=lambda: self._newest(self.exported),
      newest_index=lambda: self._newest(self.indexed),
      publish_index=build or self._build,
      is_training_done=is_training_done,
      wait=wait or (lambda: self.fail('Nothing to wait for.')),
    )

  def test_skips_stale_versions_and_builds_the_last(self):
    def build(params):
      self._build(params)
      self.exported.append(15)  # Training moves on meanwhile.

    num_published = self._refresh(
      is_training_done=lambda: 15 in self.exported,
      build=build,
      wait=lambda: self.exported.extend([5, 10]),  # Both while idle.
    )
    self.assertEqual(self.built, [10, 15])
    self.assertEqual(num_published, 2)

  def test_version_made_while_training_ends_is_not_missed(self):
    # Fails if the two reads at the top of the loop are swapped.
    self.exported.append(5)

    def end_training():
      if self.built == [5]:
        self.exported.append(10)
      return bool(self.built)

    self._refresh(end_training)
    self.assertEqual(self.built, [5, 10])

  def test_restart_builds_no_published_version_again(self):
    self.exported, self.indexed = [5, 10], [5, 10]
    self.assertEqual(self._refresh(lambda: True), 0)
    self.assertEmpty(self.built)

  def test_restart_goes_on_with_newer_parameters(self):
    self.exported, self.indexed = [5, 10], [5]
    self.assertEqual(self._refresh(lambda: True), 1)
    self.assertEqual(self.built, [10])

  def test_older_parameters_are_never_built_after_newer(self):
    # As if the run directory's newest parameters were removed.
    self.exported, self.indexed = [5], [10]
    self.assertEqual(self._refresh(lambda: True), 0)
    self.assertEmpty(self.built)

  def test_parameters_of_step_zero_are_built(self):
    self.exported = [0]
    self._refresh(lambda: True)
    self.assertEqual(self.built, [0])

  def test_waits_while_there_is_nothing_to_do(self):
    waits = []

    def wait():
      waits.append(list(self.built))
      if len(waits) == 2:
        self.exported.append(5)

    # Done after a third wait: the index of step 5 is built by then.
    self._refresh(lambda: len(waits) == 3, wait=wait)
    self.assertEqual(waits, [[], [], [5]])

  def test_failure_to_build_ends_the_job(self):
    self.exported = [5]

    def build(params):
      raise OSError('Disk full.')

    with self.assertRaisesRegex(OSError, 'full'):
      self._refresh(lambda: True, build=build)


if __name__ == '__main__':
  absltest.main()
