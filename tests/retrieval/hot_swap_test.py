"""Tests for realm_tf.retrieval.hot_swap: no threads, no sleeps."""

import concurrent.futures

from absl.testing import absltest

from realm_tf import errors
from realm_tf.retrieval import hot_swap
from realm_tf.rundir import versions


class _Background:
  """Runs what is submitted when told to."""

  def __init__(self):
    self.waiting = []

  def submit(self, function, *arguments):
    future = concurrent.futures.Future()
    self.waiting.append((future, function, arguments))
    return future

  def finish(self):
    future, function, arguments = self.waiting.pop()
    try:
      future.set_result(function(*arguments))
    except Exception as error:  # As an executor does.
      future.set_exception(error)


class HotSwapTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.published = []  # Steps on disk.
    self.loads = []  # Steps that were loaded or tried to be.
    self.damaged = {}  # Step -> error.
    self.background = _Background()
    self.swap = hot_swap.HotSwap(
      self._newest, self._load, self.background.submit
    )

  def _newest(self, above):
    newer = [step for step in self.published if step > above]
    return versions.Version(max(newer), f'/{max(newer)}') if newer else None

  def _load(self, version):
    self.loads.append(version.step)
    if version.step in self.damaged:
      raise self.damaged[version.step]
    return f'loaded {version.path}'

  def _start_with(self, step):
    self.published.append(step)
    self.swap.poll()
    self.background.finish()
    self.assertTrue(self.swap.poll())

  def test_nothing_published_is_nothing(self):
    self.assertFalse(self.swap.poll())
    self.assertIsNone(self.swap.current)
    self.assertEqual(self.swap.step, -1)
    self.assertEmpty(self.background.waiting)

  def test_swaps_only_on_poll_and_only_when_loaded(self):
    self._start_with(500)
    self.published.append(1000)
    self.assertFalse(self.swap.poll())  # Begins to load.
    self.assertFalse(self.swap.poll())
    self.assertEqual((self.swap.current, self.swap.step), ('loaded /500', 500))
    self.background.finish()
    self.assertEqual((self.swap.current, self.swap.step), ('loaded /500', 500))
    self.assertTrue(self.swap.poll())
    self.assertEqual(
      (self.swap.current, self.swap.step), ('loaded /1000', 1000)
    )
    self.assertFalse(self.swap.poll())

  def test_version_of_step_zero_counts(self):
    self._start_with(0)
    self.assertEqual(self.swap.step, 0)

  def test_loads_one_version_at_a_time_and_then_the_newest(self):
    self.published.append(500)
    self.swap.poll()
    self.published += [1000, 1500]
    for _ in range(3):
      self.swap.poll()
      self.assertLen(self.background.waiting, 1)
    self.background.finish()
    self.assertTrue(self.swap.poll())  # Also begins to load 1500.
    self.assertLen(self.background.waiting, 1)
    self.background.finish()
    self.assertTrue(self.swap.poll())
    self.assertEqual(self.loads, [500, 1500])

  def test_loaded_version_is_not_loaded_again(self):
    self._start_with(500)
    for _ in range(3):
      self.assertFalse(self.swap.poll())
    self.assertEqual(self.loads, [500])
    self.assertEmpty(self.background.waiting)

  def test_damaged_version_is_refused_and_not_retried(self):
    self._start_with(500)
    self.damaged[1000] = errors.UserError('A byte is flipped.')
    self.published.append(1000)
    self.swap.poll()
    self.background.finish()
    for _ in range(3):
      self.assertFalse(self.swap.poll())
    self.assertEqual((self.swap.current, self.swap.step), ('loaded /500', 500))
    self.assertEqual(self.loads, [500, 1000])

    self._start_with(1500)
    self.assertEqual(self.swap.current, 'loaded /1500')

  def test_version_that_vanishes_is_refused(self):
    self._start_with(500)
    self.damaged[1000] = FileNotFoundError('Pruned meanwhile.')
    self.published.append(1000)
    self.swap.poll()
    self.background.finish()
    self.assertFalse(self.swap.poll())
    self.assertEqual(self.swap.step, 500)

  def test_programming_errors_are_not_swallowed(self):
    self.damaged[500] = ZeroDivisionError()
    self.published.append(500)
    self.swap.poll()
    self.background.finish()
    with self.assertRaises(ZeroDivisionError):
      self.swap.poll()

  def test_waits_for_the_first_version(self):
    waits = []

    def wait():
      waits.append(len(self.background.waiting))
      if len(waits) == 1:
        self.published.append(500)
      else:
        self.background.finish()

    self.swap.wait_for_first(wait)
    # Nothing to load at first; then 500 is being loaded; then it is there.
    self.assertEqual(waits, [0, 1])
    self.assertEqual(self.swap.current, 'loaded /500')


if __name__ == '__main__':
  absltest.main()
