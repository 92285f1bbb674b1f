"""Tests for realm_tf.run.recipe_result: the page's examples."""

import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.run import recipe_result


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
    run_dir.create_file('realm.json', '{"answer_by": "text"}')
    found = recipe_result.read(run_dir.full_path)
    self.assertEqual(found, {'answer_by': 'text'})
    run_dir.create_file('realm.json', '{"answers_by": "text"}')
    with self.assertRaisesRegex(errors.UserError, "Found 'answers_by'"):
      recipe_result.read(run_dir.full_path)


if __name__ == '__main__':
  absltest.main()
