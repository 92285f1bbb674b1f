"""Tests for realm_tf.corpus.parallel."""

import os
import re
import signal

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import parallel

_KILLS = 10**9
_HANGS = 10**8
_NO_LIMIT = parallel.Limit(60, lambda item, why: why, lambda item: True, 9)


class Work:
  """Multiplies, and returns its process id; cannot be pickled."""

  def __init__(self, factor: int):
    self._factor = factor
    self._cannot_be_pickled = lambda: None

  def __call__(self, item: int) -> tuple[int, int]:
    if item == _KILLS:
      os.kill(os.getpid(), signal.SIGKILL)
    if item == _HANGS:
      # One call of a C function, which ignores signals of Python.
      re.match(r'(a|a)*b', 'a' * 60)
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

  def test_items_over_the_limit_are_replaced_in_order(self):
    items = [1, _HANGS, 'ready', _KILLS, 2, 3]
    limit = parallel.Limit(
      seconds=0.5,
      instead=lambda item, reason: (item, reason),
      applies=lambda item: item != 'ready',
      ahead=3,
    )
    results = list(parallel.ordered_map(Work, (3,), items, 1, limit))
    values = [value for value, _ in results[:2] + results[3:]]
    self.assertEqual(values, [3, _HANGS, _KILLS, 6, 9])
    self.assertEqual(results[2], 'ready')
    self.assertEqual(results[1][1], 'took over 0.5 s')
    self.assertEqual(results[3][1], 'ended its process')
    pids = {results[place][1] for place in (0, 4, 5)}
    self.assertLen(pids, 2, 'a new process')

  def test_results_before_a_broken_item_come_first(self):
    def items():
      yield from (1, 2)
      raise errors.UserError('The file is cut off.')

    results = parallel.ordered_map(Work, (2,), items(), 2, _NO_LIMIT)
    self.assertEqual([next(results)[0], next(results)[0]], [2, 4])
    with self.assertRaisesRegex(errors.UserError, 'cut off'):
      next(results)

  def test_a_killed_worker_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'fewer --num_workers'):
      list(parallel.ordered_map(Work, (2,), [1, 2, _KILLS, 3], 2))


if __name__ == '__main__':
  absltest.main()
