"""Tests for realm_tf.run.examples."""

import json
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import msgspec

from realm_tf import errors
from realm_tf.run import examples
from realm_tf.run import layout

_EXAMPLE = examples.Example(
  7,
  'the pound is a currency',
  [(4, 9)],
  [
    examples.Candidate(3, 'Pound', 'Of <b>Britain</b>.\n', 0.75, 0.5, 1.25),
    examples.Candidate(None, '', '', 0.25, 0.1, None),
  ],
)


class ExamplesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.path = pathlib.Path(layout.examples_file(self.run_dir))

  def test_newer_examples_replace_older_ones(self):
    older = msgspec.structs.replace(_EXAMPLE, step=3)
    examples.write(self.run_dir, [older, older])
    examples.write(self.run_dir, [_EXAMPLE])
    self.assertEqual(examples.read(self.run_dir), [_EXAMPLE])

  def test_a_line_is_an_object_with_the_documented_names(self):
    examples.write(self.run_dir, [_EXAMPLE])
    [line] = self.path.read_text().splitlines()
    fields = json.loads(line)
    self.assertEqual(list(fields), ['step', 'query', 'masked', 'candidates'])
    names = ['block_id', 'title', 'text', 'p_z', 'p_y', 'utility']
    self.assertEqual(list(fields['candidates'][1]), names)

  def test_pieces_join_to_the_query(self):
    pieces = examples.cut_at(_EXAMPLE.query, [(0, 3), (4, 9)])
    self.assertEqual(
      pieces,
      [('the', True), (' ', False), ('pound', True), (' is a currency', False)],
    )

  def test_a_run_may_have_no_examples(self):
    self.assertEqual(examples.read(self.run_dir), [])

  @parameterized.parameters(
    '{"step": 1',
    '{"step": 1, "query": "a", "masked": [[1]], "candidates": []}',
    '{"step": 1, "query": "a", "masked": [], "candidates": [{"title": "b"}]}',
  )
  def test_a_broken_line_is_named(self, line):
    examples.write(self.run_dir, [_EXAMPLE])
    with open(self.path, 'a') as file:
      file.write(line + '\n')
    with self.assertRaisesRegex(errors.UserError, r'examples\.jsonl:2 must'):
      examples.read(self.run_dir)

  @parameterized.parameters([[(4, 9), (0, 3)]], [[(4, 99)]], [[(9, 4)]])
  def test_masked_spans_follow_each_other_in_the_query(self, masked):
    wrong = msgspec.structs.replace(_EXAMPLE, masked=masked)
    examples.write(self.run_dir, [wrong])
    with self.assertRaisesRegex(errors.UserError, r'jsonl:1 must be spans of'):
      examples.read(self.run_dir)


if __name__ == '__main__':
  absltest.main()
