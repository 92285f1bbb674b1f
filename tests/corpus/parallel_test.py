"""Tests for realm_tf.corpus.parallel."""

import os
import signal

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import parallel

_KILLS = 10**9


class Work:
  """Multiplies, and returns its process id; cannot be pickled."""

  def __init__(self, factor: int):
    self._factor = factor
    self._cannot_be_pickled = lambda: None

  def __call__(self, item: int) -> tuple[int, int]:
    if item == _KILLS:
      os.kill(os.getpid(), signal.SIGKILL)
    if item < 0:
      raise errors.UserError(f'Items must be positive. Found {item}.')
    return self._factor * item, os.getpid()


class OrderedMapTest(absltest.TestCase):
  def test_results_keep_their_order(self):
    for num_workers in (1, 2):
      results = list(parallel.ordered_map(Work, (3,), range(40), num_workers))
      self.assertEqual([value for value, _ in results], list(range(0, 120, 3)))
      self.assertEqual(
        os.getpid() in {pid for _, pid in results}, num_workers == 1
      )

  def test_items_are_read_a_few_ahead(self):
    num_read = 0

    def items():
      nonlocal num_read
      while True:
        num_read += 1
        yield num_read

    results = parallel.ordered_map(Work, (1,), items(), 2)
    self.assertEqual([next(results)[0] for _ in range(50)], [*range(1, 51)])
    self.assertLess(num_read, 60)
    results.close()

  def test_few_items_start_no_process(self):
    (result,) = parallel.ordered_map(Work, (2,), [4], 8)
    self.assertEqual(result, (8, os.getpid()))
    self.assertEmpty(list(parallel.ordered_map(Work, (2,), [], 8)))

  def test_an_error_of_a_worker_is_raised_here(self):
    with self.assertRaisesRegex(errors.UserError, 'Found -1'):
      list(parallel.ordered_map(Work, (2,), [1, 2, -1, 3], 2))

  def test_a_killed_worker_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, '--num_workers than 2'):
      list(parallel.ordered_map(Work, (2,), [1, 2, _KILLS, 3], 2))


if __name__ == '__main__':
  absltest.main()
