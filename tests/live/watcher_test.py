"""Tests for realm_tf.live.watcher."""

import threading

from absl.testing import absltest

from realm_tf.live import watcher


class WatcherTest(absltest.TestCase):
  def test_calls_go_on_after_an_error_until_close(self):
    looks, enough = [], threading.Event()

    def look():
      looks.append(len(looks))
      if len(looks) == 1:
        raise ValueError('Broken.')
      enough.set()

    watching = watcher.Watcher(look, 0.001)
    self.assertTrue(enough.wait(30))
    watching.close()


if __name__ == '__main__':
  absltest.main()
