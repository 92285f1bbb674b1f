"""Tests for realm_tf.retrieval.hot_swap."""

import concurrent.futures
import weakref

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import errors
from realm_tf.retrieval import hot_swap
from realm_tf.run import versions


class _Background:
  """An executor that runs a submitted function in `finish`."""

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
    except Exception as error:  # Executors do the same.
      future.set_exception(error)


class _Index:
  """A loaded object for weak references."""

  def __init__(self, path):
    self.path = path


class HotSwapTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.published = []  # Steps on disk.
    self.loads = []  # Steps of successful and failed loads.
    self.damaged = {}  # Step -> error.
    self.in_memory = weakref.WeakSet()
    self.most_in_memory = 0
    self.declared = []
    self.background = _Background()
    self.swap = hot_swap.HotSwap(
      self._newest,
      self._load,
      submit=self.background.submit,
      declare=self._declare,
    )

  def _newest(self):
    if None in self.published:
      raise tf.errors.UnavailableError(None, None, 'The bucket is away.')
    step = max(self.published, default=None)
    return None if step is None else versions.Version(step, f'/{step}')

  def _declare(self, found):
    self.declared.append([version.step for version in found])

  def _load(self, version):
    self.loads.append(version.step)
    if version.step in self.damaged:
      raise self.damaged[version.step]
    index = _Index(version.path)
    self.in_memory.add(index)
    self.most_in_memory = max(self.most_in_memory, len(self.in_memory))
    return index

  def _turn(self):
    """Runs one background task; returns whether a swap follows."""
    self.swap.poll()
    self.assertLen(self.background.waiting, 1)
    self.background.finish()
    return self.swap.poll()

  def _start_with(self, step):
    self.published.append(step)
    self.assertTrue(self._turn())

  def _assert_uses(self, step):
    self.assertEqual(
      (self.swap.current.path, self.swap.version),
      (f'/{step}', versions.Version(step, f'/{step}')),
    )

  def test_swaps_only_on_poll_and_only_when_loaded(self):
    self._start_with(500)
    self.published.append(1000)
    for _ in range(3):
      self.assertFalse(self.swap.poll())
      self._assert_uses(500)
    self.background.finish()
    self._assert_uses(500)
    self.assertTrue(self.swap.poll())
    self._assert_uses(1000)
    self.assertFalse(self.swap.poll())

  def test_at_most_two_versions_are_in_memory(self):
    for step in range(0, 5000, 500):
      self._start_with(step)
    self.assertEqual(self.most_in_memory, 2)
    # The polling thread only dropped its reference.
    self.assertLen(self.in_memory, 2)
    self.background.finish()
    self.assertLen(self.in_memory, 1)
    self.assertEqual(self.loads, [*range(0, 5000, 500)])  # Each once.

  @parameterized.parameters(
    errors.UserError('A byte is flipped.'),
    FileNotFoundError('Pruned.'),
    tf.errors.NotFoundError(None, None, 'Pruned.'),
  )
  def test_damaged_version_is_refused_and_not_retried(self, error):
    self._start_with(500)
    self.damaged[1000] = error
    self.published.append(1000)
    with self.assertLogs(level='ERROR') as logs:
      for _ in range(3):
        self.assertFalse(self._turn())
    self._assert_uses(500)
    self.assertEqual(self.loads, [500, 1000])
    self.assertLen(logs.output, 1)
    self.assertIn(str(error), logs.output[0])

    self._start_with(1500)
    self._assert_uses(1500)

  def test_an_unreadable_directory_is_tried_again(self):
    self._start_with(500)
    self.published.append(None)
    self.assertFalse(self._turn())
    self.published.remove(None)
    self._start_with(1000)
    self._assert_uses(1000)

  def test_programming_errors_are_not_swallowed(self):
    self.damaged[500] = ZeroDivisionError()
    self.published.append(500)
    self.swap.poll()
    self.assertEmpty(self.loads)  # Only the background loads.
    self.background.finish()
    with self.assertRaises(ZeroDivisionError):
      self.swap.poll()

  def test_waits_for_the_first_version(self):
    waits = []

    def wait():
      waits.append(len(self.loads))
      if len(waits) == 2:
        self.published.append(500)
      self.background.finish()

    self.swap.wait_for(lambda: self.swap.version is not None, wait)
    # First look: no version. Second look: 500 is loaded.
    self.assertEqual((waits, self.declared), ([0, 0], [[500]]))
    self._assert_uses(500)

  def test_does_not_wait_forever_for_a_refused_version(self):
    self.damaged[500] = errors.UserError('Its parameters lack one.')
    self.published.append(500)
    with (
      self.assertLogs(level='ERROR'),
      self.assertRaisesRegex(errors.UserError, 'lack one'),
    ):
      self.swap.wait_for(lambda: False, self.background.finish)


class InOneThreadTest(absltest.TestCase):
  def test_swaps_without_an_executor_like_the_server(self):
    versions_on_disk, damage = [1], []

    def load(version):
      if version in damage:
        raise errors.UserError('Damaged.')
      return f'model {version}'

    swap = hot_swap.HotSwap(lambda: versions_on_disk[-1], load)
    damage.append(1)
    with self.assertRaises(errors.UserError):
      swap.load_first()
    damage[:] = [3]
    swap.load_first()
    self.assertEqual(swap.current, 'model 1')
    for version, used in (1, 1), (2, 2), (3, 2), (1, 1):
      versions_on_disk.append(version)
      if newer := swap.find_newer():
        swap.swap(newer)
      self.assertEqual((swap.current, swap.version), (f'model {used}', used))
    self.assertEqual(swap.refused, 3)


if __name__ == '__main__':
  absltest.main()
