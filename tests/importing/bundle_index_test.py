"""Tests for realm_tf.importing.bundle_index and `imported.FileRows`."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.importing import bundle_index
from realm_tf.importing import imported
from tests.importing import tf1_release


class BundleIndexTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.prefix = os.path.join(self.create_tempdir().full_path, 'model')

  def test_finds_every_tensor_of_many(self):
    # Enough names, alike and long, for several blocks of the index.
    rng = np.random.default_rng(0)
    values = {
      f'a/{"long" * 30}/name_{i // 7}/{i}': rng.normal(
        size=[i % 5 + 1, 3]
      ).astype(np.float32)
      for i in range(3000)
    }
    tf1_release.save(self.prefix, values)
    for name, value in list(values.items())[::97]:
      place = bundle_index.find(self.prefix, name)
      self.assertEqual(place.shape, value.shape)
      np.testing.assert_array_equal(
        imported.FileRows(*place)[0 : len(value)], value
      )

  def test_says_nothing_of_other_names_and_types(self):
    tf1_release.save(self.prefix, {'whole': np.arange(3)})
    self.assertIsNone(bundle_index.find(self.prefix, 'whole'))
    self.assertIsNone(bundle_index.find(self.prefix, 'other'))

  def test_says_nothing_of_an_index_that_is_none(self):
    for data in (b'', b'x' * 100):
      with open(self.prefix + '.index', 'wb') as file:
        file.write(data)
      self.assertIsNone(bundle_index.find(self.prefix, 'a'))


class FileRowsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.path = os.path.join(self.create_tempdir().full_path, 'rows')
    self.rows = np.arange(12, dtype='<f4').reshape(4, 3)
    with open(self.path, 'wb') as file:
      file.write(b'12345' + self.rows.tobytes() + b'6')

  def test_slices_are_those_of_the_array(self):
    rows = imported.FileRows(self.path, 5, (4, 3))
    self.assertLen(rows, 4)
    for start, stop in ((0, 4), (1, 3), (3, 9), (2, 2), (9, 12)):
      np.testing.assert_array_equal(rows[start:stop], self.rows[start:stop])

  def test_a_file_that_ends_too_soon_is_refused(self):
    with self.assertRaisesRegex(errors.UserError, '65 bytes for 5 rows of 3'):
      imported.FileRows(self.path, 5, (5, 3))


if __name__ == '__main__':
  absltest.main()
