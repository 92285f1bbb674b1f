"""Tests for realm_tf.tpu.plan."""

import json

from absl.testing import absltest

from realm_tf.tpu import chips
from realm_tf.tpu import compiled_module
from realm_tf.tpu import lowering
from realm_tf.tpu import plan
from realm_tf.tpu import tpu_compiler

(_V5E,) = chips.parse('v5e:8x8')
(_V3,) = chips.parse('v3:4x8')
_PROGRAM = lowering.Program(
  'pretraining', None, (), 8, ('one setting', 'another')
)
_TRAFFIC = {compiled_module.PRODUCTS: 100e9, compiled_module.OTHERS: 222e9}
_FITS = tpu_compiler.Compiled(
  600.0, 3e9, 0.5e9, 11e9, 0.1e9, 22e12, reduced_bytes=2e9, traffic=_TRAFFIC
)


def _failed(message):
  return plan.row(_PROGRAM, _V5E, tpu_compiler.Compiled(error=message))


class PlanTest(absltest.TestCase):
  def test_a_table_has_each_figure_under_its_name(self):
    lines = plan.table([plan.row(_PROGRAM, _V5E, _FITS)]).splitlines()
    self.assertLen(lines, 3)
    self.assertIn('64 cores, each with 16.0 GB, 197 TFLOP/s', lines[0])
    # All: 3 + 0.5 + 11 + 0.1. The seconds: 322 / 819.
    self.assertEqual(
      lines[2].split(),
      'pretraining 8 14.60 16.0 3.00 11.00 0.10 22.000 322.00 100.00 '
      # 2 * 63 / 64 * 2 / 200.
      '2.00 0.0197 0.3932 traffic 600 s'.split(),
    )
    # Right ends are aligned.
    ends = lines[1].index('seconds') + 7, lines[2].index('0.3932') + 6
    self.assertEqual(*ends)

  def test_each_slice_has_a_table(self):
    rows = [plan.row(_PROGRAM, where, _FITS) for where in (_V5E, _V3, _V5E)]
    blocks = plan.table(rows)
    self.assertEqual(blocks.count('v5e:8x8:'), 1)
    self.assertEqual(blocks.count('pretraining'), 3)
    # Half of 32 GiB.
    self.assertIn('v3:4x8: 64 cores, each with 17.2 GB', blocks)

  def test_a_program_above_the_memory_says_how_much_and_what_to_do(self):
    found = plan.row(_PROGRAM, _V5E, _FITS._replace(temporary_bytes=20e9))
    self.assertEqual(
      found.problem,
      'pretraining must fit in the memory of a core of v5e:8x8. Found 23.6 GB, '
      'mostly temporaries, 7.6 GB above its 16.0. Try: one setting; another.',
    )
    self.assertIn(found.problem, plan.table([found]).splitlines())

  def test_a_message_about_memory_becomes_the_same_line(self):
    # tests/bin/user_mistakes_test.py has the compiler's newer message.
    found = _failed(
      'RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm. Used 20.00G '
      'of 15.00G hbm. Exceeded hbm capacity by 5.00G.\n\nTotal ...'
    )
    # 20 and 15 GiB.
    self.assertIn('21.5 GB, 5.4 GB above its 16.1. Try: one', found.problem)
    self.assertNotIn('\n', found.problem)

  def test_another_message_is_kept_in_one_line(self):
    found = _failed('INVALID_ARGUMENT: no\n\n such op')
    self.assertEqual(
      found.problem,
      'pretraining does not compile for v5e:8x8: INVALID_ARGUMENT: no such op',
    )
    # A row without figures is no line of the table.
    self.assertLen(plan.table([found]).splitlines(), 2)

  def test_json_has_the_figures(self):
    found = json.loads(json.dumps(plan.row(_PROGRAM, _V3, _FITS).as_json()))
    self.assertEqual(found['program'], 'pretraining')
    self.assertEqual(found['temporary_bytes'], 11e9)
    self.assertEqual(found['traffic'], _TRAFFIC)
    self.assertEqual(found['core_memory_bytes'], 16 * 2**30)
    # A core has half of 900 GB/s.
    self.assertAlmostEqual(found['roofline_secs'], 322 / 450)
    self.assertEqual((found['problem'], found['limit']), ('', 'traffic'))


if __name__ == '__main__':
  absltest.main()
