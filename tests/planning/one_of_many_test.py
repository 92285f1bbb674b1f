"""Tests for realm_tf.planning.one_of_many."""

from absl.testing import absltest
import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

from realm_tf.planning import lowering
from realm_tf.planning import one_of_many
from realm_tf.training import optimizer


def _step(value):
  replica = tf.distribute.get_replica_context()
  (total,) = optimizer.all_reduce([value])
  number = tf.cast(replica.replica_id_in_sync_group, tf.float32)
  return total / replica.num_replicas_in_sync + number


class OneOfManyTest(absltest.TestCase):
  def test_a_sum_over_replicas_is_one_of_the_program(self):
    strategy = one_of_many.OneOfMany(3)
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


if __name__ == '__main__':
  absltest.main()
