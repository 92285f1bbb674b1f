"""Tests for launch.schedule: which stage begins, with how many threads."""

from absl.testing import absltest
from absl.testing import parameterized

from launch import runner
from launch import schedule


def _next(needs, costs, left, running=(), *, shown='', cores=2, most=9):
  """Returns the next stage; `needs` is name -> names, in order."""
  recipe = runner.Recipe('run')
  for (name, needed), cost in zip(needs.items(), costs, strict=True):
    outputs = [recipe.stages[each].output for each in needed]
    recipe.stage(name, 'x', needs=outputs, cost=cost)
  recipe.show('title', [recipe.stages[each].output for each in shown], str)
  with absltest.mock.patch.object(runner.Recipe, 'cores', cores):
    return schedule.next_stage(recipe, left, dict(running), most)


class NextStageTest(parameterized.TestCase):
  @parameterized.named_parameters(
    # b and c: 10 seconds, a: 5.
    ('longest_path', 'bc', (5, 1, 9), '', ['b1', 'a1', None]),
    # a, then c, have all cores before b.
    ('shown_text', 'ac', (1, 9, 2), 'c', ['a2', None]),
  )
  def test_order(self, path, costs, shown, expected):
    first, last = path
    needs = {'a': '', 'b': '', last: first}
    found, left, running = [], 'abc', {}
    for _ in expected:
      step = _next(needs, costs, left, running, shown=shown)
      found.append(step and f'{step[0]}{step[1]}')
      if step:
        left = left.replace(step[0], '')
        running[step[0]] = step[1]
    self.assertEqual(found, expected)

  def test_ready_stages_share_the_free_cores(self):
    needs, costs = {'a': '', 'b': '', 'c': 'ab'}, (2, 1, 3)
    for left, running, expected in (
      ('abc', {}, ('a', 4)),
      ('bc', {'a': 4}, ('b', 4)),
      ('c', {'a': 4, 'b': 4}, None),
      ('c', {}, ('c', 8)),
    ):
      step = _next(needs, costs, left, running, cores=8)
      self.assertEqual(step, expected)

  def test_memory_limits_the_stages_at_the_same_time(self):
    needs, costs = dict.fromkeys('abc', ''), (3, 2, 1)
    for left, running, most, expected in (
      ('abc', {}, 2, ('a', 4)),
      ('bc', {'a': 4}, 2, ('b', 4)),
      ('c', {'a': 3, 'b': 3}, 2, None),
      ('abc', {}, 1, ('a', 8)),
    ):
      step = _next(needs, costs, left, running, cores=8, most=most)
      self.assertEqual(step, expected)


if __name__ == '__main__':
  absltest.main()
