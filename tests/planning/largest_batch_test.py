"""Tests for realm_tf.planning.largest_batch, with a fake compiler."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.planning import chips
from realm_tf.planning import largest_batch
from realm_tf.planning import lowering
from realm_tf.planning import plan
from realm_tf.planning import tpu_compiler
from tests import tiny

(_V5E,) = chips.parse('v5e:2x2')


class LargestBatchTest(parameterized.TestCase):
  @parameterized.parameters(0, 1, 2, 3, 11, 16, 100)
  def test_the_largest_number_is_found_with_few_trials(self, largest):
    tried = []

    def fits(number):
      tried.append(number)
      return number <= largest

    self.assertEqual(largest_batch.bisect(fits), largest)
    self.assertCountEqual(set(tried), tried)
    self.assertLessEqual(len(tried), 2 * largest.bit_length() + 1)

  def test_without_a_limit_the_search_ends(self):
    self.assertEqual(largest_batch.bisect(lambda number: True), 2**14)

  def _find(self, recompute, error=''):
    """Finds with a compiler that needs 3 GB a row, or 1 GB recomputed."""

    def plan_one(config):
      batch = config.tagger.batch_size // 4
      each = 1e9 if config.model.recompute_activations else 3e9
      compiled = tpu_compiler.Compiled(
        temporary_bytes=each * batch, error=error
      )
      program = lowering.Lowered('tagger', b'', batch, ())
      return plan.row(program, _V5E, compiled)

    return largest_batch.find(
      'tagger', _V5E, tiny.config(), recompute, plan_one
    )

  @parameterized.parameters((False, 5), (True, 16))
  def test_the_batch_of_all_cores_is_tried(self, recompute, batch):
    found = self._find(recompute)
    self.assertEqual((found.batch, found.recompute), (batch, recompute))
    self.assertEqual(found.as_json()['largest_batch'], batch)
    self.assertIn(
      f'at most {batch} a core, tagger.batch_size={4 * batch}', found.as_line()
    )

  def test_another_problem_is_no_answer(self):
    with self.assertRaisesRegex(errors.UserError, 'no such op'):
      self._find(False, 'no such op')


if __name__ == '__main__':
  absltest.main()
