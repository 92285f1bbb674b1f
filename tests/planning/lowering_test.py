"""Tests for realm_tf.planning.lowering."""

from absl.testing import absltest
import tensorflow as tf
from tensorflow.compiler.xla.service import hlo_pb2

from realm_tf.planning import lowering


def _module():
  """Returns the module of a step that updates a variable."""
  variable = tf.Variable([1.0, 2.0])

  def step(batch, scale):
    variable.assign_add(scale * batch['values'])
    return tf.reduce_sum(variable)

  program = lowering.Program(
    'step', step, ({'values': tf.TensorSpec([2])}, tf.TensorSpec([])), 2, ()
  )
  module = hlo_pb2.HloModuleProto.FromString(lowering.lower(program).module)
  return module, variable


class LoweringTest(absltest.TestCase):
  def test_arguments_and_variables_are_parameters_without_values(self):
    module, variable = _module()
    shapes = [
      list(each.dimensions) for each in module.host_program_shape.parameters
    ]
    self.assertCountEqual(shapes, [[2], [], [2]])
    self.assertEqual(variable.numpy().tolist(), [1.0, 2.0])

  def test_an_update_has_the_memory_of_its_variable(self):
    module, _ = _module()
    self.assertLen(module.input_output_alias.entries, 1)

  def test_no_copies_and_no_places_are_left(self):
    module, _ = _module()
    entry = module.computations[-1]
    self.assertIn('add', [each.opcode for each in entry.instructions])
    self.assertNotIn('copy', [each.opcode for each in entry.instructions])
    self.assertNotIn(b'lowering', module.SerializeToString())
    # Each operand, and the root, is an instruction that is left.
    numbers = {each.id for each in entry.instructions}
    operands = {one for each in entry.instructions for one in each.operand_ids}
    self.assertContainsSubset({*operands, entry.root_id}, numbers)


if __name__ == '__main__':
  absltest.main()
