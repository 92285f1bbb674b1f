"""Tests for realm_tf.index.embedding_shards."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.index import embedding_shards

# Exact in each of the three types.
_ROWS = np.arange(24, dtype=np.float32).reshape([8, 3]) / 4
_DTYPES = ('float32', 'bfloat16', 'float16')


class EmbeddingShardsTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.path = self.create_tempdir().full_path

  def _open(self, dtype, rows=_ROWS, cuts=(3, 7)):
    shards = [
      embedding_shards.write(self.path, f'{dtype}-{i}.npy', part, dtype)
      for i, part in enumerate(np.split(rows, cuts))
    ]
    return embedding_shards.Embeddings(self.path, shards, dtype), shards

  @parameterized.parameters(*_DTYPES)
  def test_is_one_array(self, dtype):
    embeddings, _ = self._open(dtype)
    self.assertEqual((len(embeddings), embeddings.shape), (8, (8, 3)))
    whole = np.asarray(embeddings)
    self.assertEqual(whole.dtype, np.float32)
    np.testing.assert_array_equal(whole, _ROWS)

  @parameterized.product(
    dtype=_DTYPES,
    rows=(
      slice(0, 3),
      slice(2, 4),
      slice(1, 8),
      slice(-2, None),
      slice(5, 2),
      slice(6, 99),
      [7, 0, 3, 3, 2],
      [],
    ),
  )
  def test_indexing_agrees_with_numpy(self, dtype, rows):
    embeddings, _ = self._open(dtype)
    if isinstance(rows, list):
      rows = np.array(rows, np.int64)
    actual = embeddings[rows]
    self.assertEqual(actual.dtype, np.float32)
    np.testing.assert_array_equal(actual, _ROWS[rows])

  @parameterized.parameters(
    ('float32', np.nan),
    ('float32', -np.inf),
    ('bfloat16', np.nan),
    ('float16', 1e6),  # Above float16's largest number.
  )
  def test_numbers_that_are_not_finite_are_refused(self, dtype, value):
    rows = _ROWS.copy()
    rows[5, 1] = value
    with self.assertRaisesRegex(errors.UserError, f'block 15, in .*{dtype}'):
      embedding_shards.write(self.path, f'{dtype}.npy', rows, dtype, 10)
    self.assertEmpty(os.listdir(self.path))

  @parameterized.parameters(
    (_ROWS.astype(np.float64),), (_ROWS[:2],), (_ROWS[:, :2],)
  )
  def test_shards_of_another_type_or_size_are_refused(self, rows):
    _, shards = self._open('float32')
    np.save(pathlib.Path(self.path, 'float32-1.npy'), rows)
    with self.assertRaisesRegex(errors.UserError, '32-1.npy must be a .npy'):
      embedding_shards.Embeddings(self.path, shards, 'float32')

  def test_one_shard_of_float32_is_not_copied(self):
    embeddings, _ = self._open('float32', cuts=())
    self.assertIsInstance(embeddings[2:5], np.memmap)
    self.assertIsInstance(np.asarray(embeddings).base, np.memmap)

  # bfloat16 has 8 bits, float16 11: 1 + 2^-9 and 1 + 2^-12 round down to 1,
  # 1 + 3 * 2^-9 rounds up to 1 + 2^-7, since half a step is 2^-8.
  @parameterized.parameters(
    ('bfloat16', 1 + 2**-9, 1.0),
    ('bfloat16', 1 + 3 * 2**-9, 1 + 2**-7),
    ('float16', 1 + 2**-12, 1.0),
    ('float32', 1 + 2**-12, 1 + 2**-12),
  )
  def test_rounds_to_the_nearest(self, dtype, value, expected):
    embeddings, _ = self._open(dtype, np.full([1, 1], value, np.float32), ())
    self.assertEqual(embeddings[0:1].item(), expected)


if __name__ == '__main__':
  absltest.main()
