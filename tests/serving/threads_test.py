"""Tests for realm_tf.serving.threads."""

import concurrent.futures
import threading

from absl.testing import absltest

from realm_tf import errors
from realm_tf.serving import threads


class BatcherTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.gate, self.entered = threading.Event(), threading.Event()
    self.batches = []

  def _batcher(self, batch_size=2, wait_secs=0.0, gather_secs=0.0):
    batcher = threads.Batcher(
      self._handle,
      batch_size,
      queue_size=5,
      wait_secs=wait_secs,
      gather_secs=lambda: gather_secs,
    )
    self.addCleanup(batcher.close)
    self.addCleanup(self.gate.set)
    return batcher

  def _handle(self, items):
    self.batches.append(items)
    self.entered.set()
    self.gate.wait(30)
    if 'bad' in items:
      raise ValueError('Bad.')
    return [
      KeyError(item) if item == 'error' else item.upper() for item in items
    ]

  def _hold(self, batcher):
    """Starts a batch that ends after `gate` is set; returns its future."""
    (future,) = batcher.submit(['held'])
    self.assertTrue(self.entered.wait(30))
    return future

  def _results(self, futures):
    return [future.result(30) for future in futures]

  def test_batches_are_full_and_in_order(self):
    batcher = self._batcher()
    held = self._hold(batcher)
    futures = batcher.submit(['a', 'b', 'c'])
    self.assertLen(batcher, 3)
    self.gate.set()
    self.assertEqual(self._results([held, *futures]), ['HELD', 'A', 'B', 'C'])
    self.assertEqual(self.batches, [['held'], ['a', 'b'], ['c']])

  def test_takes_all_or_none(self):
    batcher = self._batcher()
    self._hold(batcher)
    batcher.submit(['a', 'b', 'c'])
    with self.assertRaisesRegex(errors.RequestError, 'Too many') as caught:
      batcher.submit(['d', 'e', 'f'])
    self.assertEqual(caught.exception.status, 429)
    self.assertLen(batcher, 3)

  def test_cancelled_items_make_room_and_are_not_handled(self):
    batcher = self._batcher()
    self._hold(batcher)
    futures = batcher.submit(['a', 'b', 'c', 'd', 'e'])
    self.assertTrue(futures[0].cancel())
    more = batcher.submit(['f'])
    self.assertTrue(futures[1].cancel())
    self.gate.set()
    self.assertEqual(self._results([*futures[2:], *more]), list('CDEF'))
    self.assertNotIn('a', sum(self.batches, []))
    self.assertNotIn('b', sum(self.batches, []))

  def test_futures_raise_the_exceptions_of_their_items(self):
    batcher = self._batcher()
    self.gate.set()
    good, error = batcher.submit(['a', 'error'])
    self.assertEqual(good.result(30), 'A')
    self.assertIsInstance(error.exception(30), KeyError)
    (bad,) = batcher.submit(['bad'])
    self.assertIsInstance(bad.exception(30), ValueError)
    self.assertEqual(self._results(batcher.submit(['b'])), ['B'])

  def test_functions_are_called_alone_and_may_ignore_the_queue_size(self):
    batcher = self._batcher(batch_size=9)
    self._hold(batcher)
    alone, item = batcher.submit([lambda: 7, 'a'])
    batcher.submit(['b', 'c', 'd'])
    # Five items fill the queue already.
    (broken,) = batcher.submit([lambda: 1 // 0], ignores_size=True)
    self.gate.set()
    self.assertEqual(self._results([alone, item]), [7, 'A'])
    self.assertIsInstance(broken.exception(30), ZeroDivisionError)
    self.assertEqual(self.batches, [['held'], ['a', 'b', 'c', 'd']])

  def test_waits_for_a_batch_of_the_last_size(self):
    batcher = self._batcher(batch_size=4, wait_secs=30.0)
    self._hold(batcher)
    futures = batcher.submit(['a', 'b'])
    self.gate.set()
    self.assertEqual(self._results(futures), ['A', 'B'])
    (third,) = batcher.submit(['c'])
    with self.assertRaises(concurrent.futures.TimeoutError):
      third.result(0.05)
    (fourth,) = batcher.submit(['d'])
    self.assertEqual(self._results([third, fourth]), ['C', 'D'])
    self.assertEqual(self.batches, [['held'], ['a', 'b'], ['c', 'd']])

  def test_waits_at_most_wait_secs_and_single_items_never(self):
    self.gate.set()
    batcher = self._batcher(batch_size=4, wait_secs=0.01)
    self._results(batcher.submit(['a', 'b']))
    self.assertEqual(batcher.submit(['c'])[0].result(10), 'C')
    batcher = self._batcher(wait_secs=30.0)
    for item in 'abc':
      self.assertEqual(batcher.submit([item])[0].result(10), item.upper())

  def test_an_idle_worker_gathers_until_a_full_batch_or_close(self):
    self.gate.set()
    batcher = self._batcher(gather_secs=30.0)
    (first,) = batcher.submit(['a'])
    with self.assertRaises(concurrent.futures.TimeoutError):
      first.result(0.05)
    self.assertEqual(self._results([first, *batcher.submit(['b'])]), ['A', 'B'])
    (third,) = batcher.submit(['c'])
    batcher.close()
    self.assertEqual(third.result(0), 'C')
    self.assertEqual(self.batches, [['a', 'b'], ['c']])

  def test_close_finishes_the_queue_and_takes_no_more(self):
    batcher = self._batcher(wait_secs=30.0)
    self._hold(batcher)
    futures = batcher.submit(['a', 'b', 'c'])
    closing = threading.Thread(target=batcher.close)
    closing.start()
    self.gate.set()
    closing.join(30)
    self.assertTrue(all(future.done() for future in futures))
    self.assertFalse(batcher.is_alive)
    with self.assertRaisesRegex(errors.RequestError, 'shutting') as caught:
      batcher.submit(['d'])
    self.assertEqual(caught.exception.status, 503)


if __name__ == '__main__':
  absltest.main()
