"""Tests of a memory of results."""

from absl.testing import absltest
import numpy as np

from realm_tf.data import memory


class MemoryTest(absltest.TestCase):
  def test_each_key_is_made_once_until_the_bytes_are_too_many(self):
    kept, made = memory.Memory(3000), []

    def values(keys):
      def make(rows):
        made.append([keys[row] for row in rows])
        return [(np.full(100, ord(keys[row])), row) for row in rows]

      return [chr(array[0]) for array, _ in kept.values(keys, make)]

    self.assertEqual(values('abab'), [*'abab'])  # 2,616 bytes.
    self.assertEqual(values('bca'), [*'bca'])
    self.assertEqual(made, [['a', 'b'], ['c']])
    self.assertEqual(values('ca'), [*'ca'])  # 3,924, but all are there.
    self.assertEqual(made[2:], [])
    self.assertEqual(values('cad'), [*'cad'])
    self.assertEqual(values('a'), ['a'])
    self.assertEqual(made[2:], [['c', 'a', 'd']])


if __name__ == '__main__':
  absltest.main()
