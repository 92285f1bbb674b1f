"""Tests for realm_tf.run.recipe_result."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.run import recipe_result


class UnfinishedTest(parameterized.TestCase):
  @parameterized.parameters(
    ({}, ''),  # Between two runs all fit.
    ({'realm.json': None}, 'realm.json'),  # The first run has not come there.
    ({'realm.json': ('begun', 'p')}, 'realm.json'),
    ({'corpus': ('begun', 'c')}, 'corpus'),
    ({'corpus': ('done', 'new')}, 'corpus'),  # The index is of the old one.
    ({'eval': ('begun', 'e')}, ''),  # The page does not need it.
  )
  def test_a_recipe_that_runs_is_not_opened(self, changes, found):
    run_dir = self.create_tempdir()
    stages = {'realm.json': ('done', 'p'), 'corpus': ('done', 'c')} | changes
    for name, stage in stages.items():
      if not stage:
        continue
      record = dict(zip(('state', 'key'), stage, strict=True))
      record['made_from'] = {'--corpus_dir': 'corpus', 'stage corpus': 'c'}
      run_dir.create_file(f'.stages/{name}.json', json.dumps(record))
    if found != 'realm.json':
      run_dir.create_file('realm.json', '{"model_dir": "qa"}')
    if not found:
      self.assertLen(recipe_result.read(run_dir.full_path), 1)
      return
    with self.assertRaisesRegex(
      errors.UserError, f'stage {found} has to run: .* still runs, .* again'
    ):
      recipe_result.read(run_dir.full_path)

  def test_a_hand_made_realm_json_among_stages_is_opened(self):
    run_dir = self.create_tempdir()
    run_dir.create_file('.stages/inputs', '{}')
    run_dir.create_file('realm.json', '{"model_dir": "qa"}')
    self.assertLen(recipe_result.read(run_dir.full_path), 1)


class ExamplesTest(parameterized.TestCase):
  def test_are_found_next_to_realm_json_unless_given(self):
    run_dir = self.create_tempdir()
    run_dir.create_file('realm.json', '{"model_dir": "qa"}')
    self.assertNotIn('examples', recipe_result.read(run_dir.full_path))
    text = '{"questions": ["Who?"], "masked": []}'
    file = run_dir.create_file('examples.json', text)
    found = recipe_result.read(run_dir.full_path)
    self.assertEqual(found['model_dir'], os.path.join(run_dir.full_path, 'qa'))
    self.assertEqual(found['examples'], file.full_path)
    self.assertEqual(
      recipe_result.read_examples(file.full_path),
      {'questions': ['Who?'], 'masked': []},
    )
    given = recipe_result.read(run_dir.full_path, ['examples'])
    self.assertNotIn('examples', given)

  @parameterized.parameters(
    ('[]', 'must be a JSON object'),
    ('{"questions": ["Who?"]}', 'required field `masked`'),
    ('{"questions": [1], "masked": []}', 'got `int` - at `[$].questions'),
  )
  def test_other_files_are_refused(self, text, message):
    path = self.create_tempfile(content=text).full_path
    with self.assertRaisesRegex(errors.UserError, message):
      recipe_result.read_examples(path)

  def test_a_key_that_nothing_reads_is_refused(self):
    run_dir = self.create_tempdir()
    run_dir.create_file('realm.json', '{"model_dir": "/qa", "num_read": 2}')
    found = recipe_result.read(run_dir.full_path)
    self.assertEqual(found, {'model_dir': '/qa', 'num_read': 2})
    run_dir.create_file('realm.json', '{"answers_by": "text"}')
    with self.assertRaisesRegex(errors.UserError, "Found 'answers_by'"):
      recipe_result.read(run_dir.full_path)


if __name__ == '__main__':
  absltest.main()
