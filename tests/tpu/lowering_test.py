"""Tests for realm_tf.tpu.lowering, and its process in programs."""

import os

from absl.testing import absltest
import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

from realm_tf import errors
from realm_tf.tpu import chips
from realm_tf.tpu import lowering
from realm_tf.tpu import programs
from realm_tf.training import optimizer
from tests import tiny

(_WHERE,) = chips.parse('v4:1x1x1')  # 2 cores.


class LoweringTest(absltest.TestCase):
  def test_a_step_has_parameters_and_updates_them_in_place(self):
    variable = tf.Variable([1.0, 2.0])

    def step(batch, scale):
      variable.assign_add(scale * batch['values'])
      return tf.reduce_sum(variable)

    program = lowering.Program(
      'step', step, ({'values': tf.TensorSpec([2])}, tf.TensorSpec([])), 2, ()
    )
    module = hlo_pb2.HloModuleProto.FromString(lowering.lower(program).module)
    # Arguments and variables are parameters, without values.
    shapes = [
      list(each.dimensions) for each in module.host_program_shape.parameters
    ]
    self.assertCountEqual(shapes, [[2], [], [2]])
    self.assertEqual(variable.numpy().tolist(), [1.0, 2.0])
    self.assertLen(module.input_output_alias.entries, 1)
    # No copies and no places are left.
    entry = module.computations[-1]
    self.assertIn('add', [each.opcode for each in entry.instructions])
    self.assertNotIn('copy', [each.opcode for each in entry.instructions])
    self.assertNotIn(b'lowering', module.SerializeToString())
    # Each operand, and the root, is an instruction that is left.
    numbers = {each.id for each in entry.instructions}
    operands = {one for each in entry.instructions for one in each.operand_ids}
    self.assertContainsSubset({*operands, entry.root_id}, numbers)


def _step(value):
  replica = tf.distribute.get_replica_context()
  (total,) = optimizer.all_reduce([value])
  number = tf.cast(replica.replica_id_in_sync_group, tf.float32)
  return total / replica.num_replicas_in_sync + number


class OneOfManyTest(absltest.TestCase):
  def test_a_sum_over_replicas_is_one_of_the_program(self):
    strategy = lowering.OneOfMany(3)
    program = lowering.Program(
      'step',
      lambda value: strategy.run(_step, args=(value,)),
      (tf.TensorSpec([5]),),
      1,
      (),
      3,
    )
    with strategy.scope():
      lowered = lowering.lower(program)
    module = hlo_pb2.HloModuleProto.FromString(lowered.module)
    found = {
      each.opcode: each
      for part in module.computations
      for each in part.instructions
    }
    total = found['all-reduce']
    self.assertEqual(list(total.shape.dimensions), [5])
    (group,) = total.collective_device_list.replica_groups
    self.assertEqual(list(group.replica_ids), [0, 1, 2])
    self.assertIn('replica-id', found)


class _Abort:
  """Ends the process that unpickles it, as a failed check of TensorFlow."""

  def __reduce__(self):
    return os.abort, ()


class LoweringProcessTest(absltest.TestCase):
  def test_each_process_makes_the_same_module(self):
    config = tiny.config(pretraining={'batch_size': 4})
    (one,), (other,) = (
      programs.lower('retrieval', config, _WHERE, 1) for _ in range(2)
    )
    self.assertEqual((one.name, one.batch), ('retrieval', 2))
    self.assertNotEmpty(one.module)
    self.assertEqual(one, other)

  def test_a_process_that_ends_is_one_line(self):
    with self.assertRaisesRegex(errors.UserError, 'closed_book .* ended'):
      programs.lower('closed_book', _Abort(), _WHERE, 1)

  def test_a_users_mistake_is_the_same_as_here(self):
    config = tiny.config(pretraining={'batch_size': 3})
    with self.assertRaisesRegex(errors.UserError, 'batch of 3 and 2 cores'):
      programs.lower('retrieval', config, _WHERE, 1)


if __name__ == '__main__':
  absltest.main()
