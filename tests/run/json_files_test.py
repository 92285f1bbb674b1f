"""Tests for realm_tf.run.json_files."""

import json
import os
import pathlib
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized
import tensorflow as tf

from realm_tf import json_text


class JsonFilesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.folder = self.create_tempdir().full_path
    self.path = os.path.join(self.folder, 'a.json')

  def test_round_trip_and_replacement(self):
    for value in ({'b': [1, 2.5]}, 7):
      json_text.write(self.path, value)
      self.assertEqual(json_text.read(self.path), value)
    self.assertEqual(os.listdir(self.folder), ['a.json'])

  def test_readers_never_see_half_a_file(self):
    json_text.write(self.path, 'old')
    seen = []

    def rename(*args, **kwargs):
      seen.append(json_text.read(self.path))
      real_rename(*args, **kwargs)

    real_rename = tf.io.gfile.rename
    with mock.patch.object(tf.io.gfile, 'rename', side_effect=rename):
      json_text.write(self.path, 'new')
    self.assertEqual(seen, ['old'])
    self.assertEqual(json_text.read(self.path), 'new')

  def test_lines_are_replaced_as_a_whole(self):
    for values in ([{'a': 'two\nlines'}, {'b': 2}], [{'c': 3}]):
      json_text.write_lines(self.path, values)
      lines = pathlib.Path(self.path).read_text().splitlines()
      self.assertEqual([json.loads(line) for line in lines], values)
    self.assertEqual(os.listdir(self.folder), ['a.json'])

  def test_two_writers_do_not_share_a_staging_file(self):
    names = []

    def rename(source, target, overwrite):
      del overwrite
      names.append(source)
      os.replace(source, target)

    with mock.patch.object(tf.io.gfile, 'rename', side_effect=rename):
      json_text.write(self.path, 1)
      json_text.write(self.path, 2)
    self.assertLen(set(names), 2)

  @parameterized.parameters(b'', b'{"a": 1', b'\xff\xfe"')
  def test_a_file_that_is_not_json_is_none(self, data):
    pathlib.Path(self.path).write_bytes(data)
    self.assertIsNone(json_text.read(self.path))

  def test_a_missing_file_is_none(self):
    self.assertIsNone(json_text.read(self.path))
    self.assertIsNone(json_text.read(os.path.join(self.folder, 'b', 'c')))


if __name__ == '__main__':
  absltest.main()
