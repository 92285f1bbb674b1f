"""Tests for launch.stage_order: which stage begins, with how many threads."""

from absl.testing import absltest

from launch import display
from launch import runner
from launch import stage_order


def _order(needs, seconds, shown=(), peaks=None, cores=2):
  """Returns the order of stages; `needs` is name -> names."""
  recipe = runner.Recipe('run')
  for name, needed in needs.items():
    outputs = [recipe.stages[each].output for each in needed]
    recipe.stage(name, 'x', needs=outputs)
  if shown:
    outputs = [recipe.stages[each].output for each in shown]
    recipe.show('title', outputs, str)
  with (
    absltest.mock.patch.object(runner.Recipe, 'cores', cores),
    absltest.mock.patch.object(stage_order, 'free_bytes', return_value=6e9),
  ):
    return stage_order.Order(recipe, seconds, peaks or {})


class StageOrderTest(absltest.TestCase):
  def test_the_longest_path_begins_first(self):
    needs = {'a': '', 'b': '', 'c': 'b'}
    order = _order(needs, {'a': 5, 'b': 1, 'c': 9})  # b and c: 10 seconds.
    self.assertEqual(order.next('abc', '')[0], 'b')
    self.assertEqual(order.next('ac', 'b')[0], 'a')
    self.assertIsNone(order.next('c', 'ab'))

  def test_a_shown_text_comes_before_a_longer_path(self):
    order = _order({'a': '', 'b': '', 'c': ''}, {'a': 1, 'b': 9, 'c': 2}, 'c')
    self.assertEqual(order.next('abc', '')[0], 'c')

  def test_threads_are_in_proportion_to_the_work_at_the_same_time(self):
    needs = {'a': '', 'b': '', 'c': 'ab'}
    seconds = {'a': 30, 'b': 10, 'c': 5}
    order = _order(needs, seconds, cores=8)
    self.assertEqual(order.next('abc', ''), ('a', 6))  # 8 * 30 / (30 + 10).
    self.assertEqual(order.next('bc', 'a'), ('b', 2))
    self.assertEqual(order.next('c', ''), ('c', 8))

  def test_memory_limits_the_stages_at_the_same_time(self):
    seconds = {'a': 3, 'b': 2, 'c': 1}
    order = _order(dict.fromkeys('abc', ''), seconds, peaks={'a': 5e9})
    self.assertEqual(order.next('abc', '')[0], 'a')  # 5 of 6 GB.
    self.assertIsNone(order.next('bc', 'a'))
    self.assertEqual(order.next('c', 'b'), ('c', 1))

  def test_the_time_is_the_longest_path_or_the_work_of_all_cores(self):
    needs = {'a': '', 'b': 'a', 'c': '', 'd': ''}
    order = _order(needs, {'a': 5, 'b': 5, 'c': 2, 'd': 2})
    self.assertEqual(order.remaining_secs('abcd'), 10)  # a, then b.
    self.assertEqual(order.remaining_secs('cdb'), 5)
    self.assertEqual(order.remaining_secs('cd'), 2)  # 4 seconds on 2 cores.

  def test_times_are_for_a_person(self):
    times = [display.clock(secs) for secs in (-1, 59.6, 61, 3661)]
    self.assertEqual(times, ['0:00', '1:00', '1:01', '1:01:01'])


if __name__ == '__main__':
  absltest.main()
