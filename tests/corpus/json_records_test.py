"""Tests for realm_tf.corpus.json_records."""

import gzip
import json
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import json_records
from tests import input_case

_RECORDS = [
  {'a': 'x' * 40, 'b': [1, {'c': None}]},
  {'a': 'Zürich "]},{["', 'b': False},
  {},
]


class ReadTest(input_case.InputCase):
  @parameterized.product(chunk=[1, 7, 1 << 20], indent=[None, 4])
  def test_an_array_is_read_in_pieces(self, chunk, indent):
    text = json.dumps(_RECORDS, indent=indent, ensure_ascii=False)
    path = self.file(gzip.compress(f'\n {text}\n\n'.encode()))
    with mock.patch.object(json_records, '_CHUNK', chunk):
      found = list(json_records.read(path))
    self.assertEqual([record for _, record in found], _RECORDS)
    # Indented, the objects begin in lines 3, 12 and 16 of the file.
    numbers = [3, 12, 16] if indent else [2, 2, 2]
    self.assertEqual(
      [where for where, _ in found], [f'{path}:{n}' for n in numbers]
    )

  def test_lines_and_an_empty_array_are_read(self):
    found = list(json_records.read(self.file('\n{"a": 1}\n{}\n')))
    self.assertEqual([record for _, record in found], [{'a': 1}, {}])
    self.assertEmpty(list(json_records.read(self.file('[\n]'))))

  def test_indented_objects_are_read(self):
    text = '\ufeff' + '\n'.join(json.dumps(r, indent=1) for r in _RECORDS)
    path = self.file(text)
    found = list(json_records.read(path))
    self.assertEqual([record for _, record in found], _RECORDS)
    self.assertEqual(
      [w.rpartition(':')[2] for w, _ in found], ['1', '10', '14']
    )

  def test_elements_that_are_no_objects_may_be_skipped(self):
    counts = counts_lib.Counts(skip_errors=True)
    found = json_records.read(self.file('[{"a": 1}, 7, {"a": 2}]'), counts)
    self.assertEqual([record for _, record in found], [{'a': 1}, {'a': 2}])
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})

  def test_is_lazy(self):
    records = json_records.read(self.file('[{"a": 1},\n{"a": broken'))
    self.assertEqual(next(records)[1], {'a': 1})

  @parameterized.named_parameters(
    ('cut_between', '[{"a": 1},\n', ':2 must be JSON'),
    ('cut_after_an_object', '[{"a": 1}\n', ':2 must have , or ].*the end'),
    ('cut_in_a_string', '[{"a": 1},\n{"b":\n"cu', ':3 must be JSON; Untermin'),
    ('cut_in_a_word', '[{"a": 1},\n{"b": tr', ':2 must be JSON'),
    ('wrong_line', '[\n{"a": 1},\n{"b" 1},\n{}]', ':3 must be JSON'),
    ('no_comma', '[\n{"a": 1}\n{"b": 1}]', ":3 must have , or ]. Found '{'"),
    ('no_object', '[{},\n7]', ':2 must be a JSON object. Found int'),
    ('more', '[{}]\n[{}]', ':2 must be the end'),
    ('cut_line', '{"a": 1}\n{"a"', ':2 must be JSON'),
    ('deep', '[{},\n' + '[' * 100_000, ':2 must be JSON; .*nested too deep'),
    ('number', '[\n{"a": ' + '9' * 5000 + '}]', ':2 must be JSON; .*5000 dig'),
    ('half', r'[{"a": "\ud83d"}]', ':1 must be JSON; half of a surr'),
    ('indented', '{\n"a": 1,\n"b" 2}', ':3 must be JSON'),
  )
  def test_a_bad_file_is_a_user_error_with_its_line(self, text, message):
    for chunk in (1, 1 << 20):
      path = self.file(text)
      with (
        mock.patch.object(json_records, '_CHUNK', chunk),
        self.assertRaisesRegex(errors.UserError, f'^{path}{message}'),
      ):
        list(json_records.read(path))


class ReadTextsTest(input_case.InputCase):
  def test_reads_the_text_of_every_line(self):
    path = self.file('{"text": "A."}\n\n{"text": "B."}')
    self.assertEqual(list(json_records.read_texts([path])), ['A.', 'B.'])

  def test_a_line_without_text_is_a_user_error(self):
    path = self.file('{"text": "a"}\n{"x": 1}\n')
    with self.assertRaisesRegex(errors.UserError, ':2 must have "text"'):
      list(json_records.read_texts([path]))


if __name__ == '__main__':
  absltest.main()
