"""Tests for launch.stage_order: which stage begins, with how many threads."""

from absl.testing import absltest

from launch import runner
from launch import stage_order


def _order(needs, seconds, shown=(), cores=2, free_bytes=1e12):
  """Returns the order of stages; `needs` is name -> names."""
  recipe = runner.Recipe('run')
  for name, needed in needs.items():
    outputs = [recipe.stages[each].output for each in needed]
    recipe.stage(name, 'x', needs=outputs)
  recipe.show('title', [recipe.stages[each].output for each in shown], str)
  with (
    absltest.mock.patch.object(runner.Recipe, 'cores', cores),
    absltest.mock.patch.object(
      stage_order, 'free_bytes', return_value=free_bytes
    ),
  ):
    return stage_order.Order(recipe, seconds)


class StageOrderTest(absltest.TestCase):
  def test_the_longest_path_begins_first(self):
    needs = {'a': '', 'b': '', 'c': 'b'}
    order = _order(needs, {'a': 5, 'b': 1, 'c': 9})  # b and c: 10 seconds.
    self.assertEqual(order.next('abc', {}), ('b', 1))
    self.assertEqual(order.next('ac', {'b': 1}), ('a', 1))
    self.assertIsNone(order.next('c', {'a': 1, 'b': 1}))

  def test_a_text_to_show_has_all_cores_before_a_longer_path(self):
    needs = {'a': '', 'b': '', 'c': 'a'}
    order = _order(needs, {'a': 1, 'b': 9, 'c': 2}, shown='c')
    self.assertEqual(order.next('abc', {}), ('a', 2))
    self.assertEqual(order.next('bc', {}), ('c', 2))
    self.assertEqual(order.next('b', {}), ('b', 2))

  def test_ready_stages_share_the_free_cores(self):
    needs = {'a': '', 'b': '', 'c': 'ab'}
    order = _order(needs, {'a': 2, 'b': 1, 'c': 3}, cores=8)
    self.assertEqual(order.next('abc', {}), ('a', 4))
    self.assertEqual(order.next('bc', {'a': 4}), ('b', 4))
    self.assertEqual(order.next('c', {}), ('c', 8))

  def test_memory_limits_the_stages_at_the_same_time(self):
    needs, seconds = dict.fromkeys('abc', ''), {'a': 3, 'b': 2, 'c': 1}
    order = _order(needs, seconds, cores=8, free_bytes=6e9)  # 2 * 2.5 GB.
    self.assertEqual(order.next('abc', {}), ('a', 4))
    self.assertEqual(order.next('bc', {'a': 4}), ('b', 4))
    self.assertIsNone(order.next('c', {'a': 3, 'b': 3}))
    order = _order(needs, seconds, free_bytes=1e9)
    self.assertEqual(order.next('abc', {}), ('a', 2))

  def test_the_time_is_the_longest_path_or_the_work_of_all_cores(self):
    needs = {'a': '', 'b': 'a', 'c': '', 'd': ''}
    order = _order(needs, {'a': 5, 'b': 5, 'c': 2, 'd': 2})
    self.assertEqual(order.remaining_secs('abcd', {}), 10)  # a, then b.
    self.assertEqual(order.remaining_secs('bcd', {'a': 3}), 7)
    self.assertEqual(order.remaining_secs('cd', {}), 2)  # 4 seconds, 2 cores.

  def test_costs_are_scaled_by_the_stages_that_ended(self):
    order = _order(dict.fromkeys('ab', ''), {})  # Each costs 10 seconds.
    self.assertEqual(order.remaining_secs('b', {}), 10)
    order.end('a', 40)
    self.assertEqual(order.remaining_secs('b', {}), 40)


if __name__ == '__main__':
  absltest.main()
