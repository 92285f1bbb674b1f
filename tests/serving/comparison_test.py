"""Tests for realm_tf.serving.comparison."""

import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.serving import comparison


def _row(system, value, metric='exact_match'):
  return {'system': system, metric: value, 'interval': [value - 1, value + 1]}


def _after(number, **values):
  return [_row(f'{n} after {number} questions', v) for n, v in values.items()]


class ComparisonTest(parameterized.TestCase):
  def _read(self, name='a_1.json', **content):
    path = pathlib.Path(self.create_tempdir().full_path, name)
    path.write_text(json.dumps(content))
    return comparison.read([str(path)])

  def test_tables_of_equal_systems_are_lines_by_number(self):
    [found] = self._read(
      title='In other words',
      tables=[
        _after(0, REALM=40.0, BM25=45.0),
        _after(1000, REALM=60.0, BM25=50.0),
        _after('all', REALM=80.0, BM25=55.0),
      ],
    )
    self.assertEqual(found.title, 'In other words')
    self.assertEqual(found.metric, 'exact match')
    self.assertEqual(found.numbers, ['0', '1,000', 'all'])
    self.assertEqual(list(found.systems), ['REALM', 'BM25'])
    np.testing.assert_array_equal(
      found.systems['REALM'], [[40, 60, 80], [39, 59, 79], [41, 61, 81]]
    )
    self.assertEqual(
      found.cells('BM25'),
      [('45.0 ±1.0', True), ('50.0 ±1.0', False), ('55.0 ±1.0', False)],
    )
    self.assertEqual(found.cells('other'), [('', False)] * 3)
    self.assertEqual(
      str(found),
      'In other words: exact match in % after 0, 1,000, all training '
      'questions: REALM 40.0, 60.0, 80.0; BM25 45.0, 50.0, 55.0',
    )

  def test_other_tables_are_points(self):
    first, second, third = self._read(
      tables=[
        [_row('a', 90.0, metric='recall@5'), _row('b', 80.0, 'recall@5')],
        [_row('a_b', 50.0), {'system': 'no interval', 'exact_match': 60.0}],
        [_row('a after 0 questions', 1.0), _row('b after 1 questions', 2.0)],
        [],
      ]
    )
    self.assertEqual(first.title, 'a 1')
    self.assertEqual(first.metric, 'answer in 5 blocks')
    self.assertEqual(first.numbers, [''])
    self.assertEqual(list(first.systems), ['a', 'b'])
    self.assertEqual(str(second), 'a 1: exact match in %: a b 50.0')
    self.assertLen(third.systems, 2)

  @parameterized.parameters(
    ({'system': 1},), ({},), ({'system': 'a', 'interval': [1]},)
  )
  def test_another_file_is_refused(self, cells):
    with self.assertRaisesRegex(errors.UserError, 'wrong.* `[$].tables'):
      self._read('wrong.json', tables=[[cells]])


if __name__ == '__main__':
  absltest.main()
