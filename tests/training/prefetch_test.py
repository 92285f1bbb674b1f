"""Tests for realm_tf.training.prefetch."""

import itertools
import threading

from absl.testing import absltest

from realm_tf.training import prefetch


class PrefetchTest(absltest.TestCase):
  def test_keeps_the_order(self):
    self.assertEqual(list(prefetch.prefetch(iter(range(20)))), list(range(20)))

  def test_an_exception_comes_at_its_place(self):
    def items():
      yield 1
      yield 2
      raise ValueError('no third')

    ahead = prefetch.prefetch(items())
    self.assertEqual([next(ahead), next(ahead)], [1, 2])
    with self.assertRaisesRegex(ValueError, 'no third'):
      next(ahead)

  def test_prepares_the_next_item_while_one_is_used(self):
    prepared = threading.Event()

    def items():
      yield 'in use'
      prepared.set()
      yield 'next'

    ahead = prefetch.prefetch(items())
    self.assertEqual(next(ahead), 'in use')
    self.assertTrue(prepared.wait(timeout=10))

  def test_prepares_two_items_ahead(self):
    made = []

    def items():
      for i in itertools.count():
        made.append(i)
        yield i

    ahead = prefetch.prefetch(items())
    self.assertEqual([next(ahead) for _ in range(3)], [0, 1, 2])
    ahead.close()
    # 3 items are taken, 2 are in the queue, and 1 waits for room.
    self.assertLessEqual(len(made), 6)


if __name__ == '__main__':
  absltest.main()
