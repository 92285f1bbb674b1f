"""Tests for realm_tf.planning.lowering_process."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.planning import chips
from realm_tf.planning import lowering_process
from tests import tiny

(_WHERE,) = chips.parse('v4:1x1x1')  # 2 cores.


class _Abort:
  """Ends the process that unpickles it, as a failed check of TensorFlow."""

  def __reduce__(self):
    return os.abort, ()


class LoweringProcessTest(absltest.TestCase):
  def test_each_process_makes_the_same_module(self):
    config = tiny.config(pretraining={'batch_size': 4})
    (one,), (other,) = (
      lowering_process.lower('query_embedding', config, _WHERE, 1)
      for _ in range(2)
    )
    self.assertEqual((one.name, one.batch), ('query_embedding', 2))
    self.assertNotEmpty(one.module)
    self.assertEqual(one, other)

  def test_a_process_that_ends_is_one_line(self):
    with self.assertRaisesRegex(errors.UserError, 'closed_book .* ended'):
      lowering_process.lower('closed_book', _Abort(), _WHERE, 1)

  def test_a_users_mistake_is_the_same_as_here(self):
    config = tiny.config(pretraining={'batch_size': 3})
    with self.assertRaisesRegex(errors.UserError, 'batch of 3 and 2 cores'):
      lowering_process.lower('query_embedding', config, _WHERE, 1)


if __name__ == '__main__':
  absltest.main()
