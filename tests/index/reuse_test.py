"""Tests for realm_tf.index.reuse."""

import os
import pathlib

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.index import index_plan
from realm_tf.index import reuse
from realm_tf.rundir import versions
from tests.index import small

_ROWS = np.arange(8, dtype=np.float32).reshape([4, 2])
_HASHES = np.array([30, 10, 2**63 + 1, 20], np.uint64)  # Unsorted.


class BaseTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.root = os.path.join(self.create_tempdir().full_path, 'index')
    self.path = versions.version_path(self.root, 500)
    self.plan = index_plan.make(
      small.CONFIG, small.model(), small.FINGERPRINT, 4
    )

  def _complete(self, rows=_ROWS, hashes=_HASHES):
    small.complete(self.root, 500, rows, hashes=hashes)

  @parameterized.parameters(
    ([10], [1]),
    ([20, 30, 10], [3, 0, 1]),
    ([20, 20], [3, 3]),
    ([2**63 + 1, 2**63, 0], [2]),
    ([11, 2**64 - 1], []),
    ([], []),
  )
  def test_finds_embeddings_by_hash(self, hashes, rows):
    self._complete()
    is_known, found = reuse.Base(self.path, self.plan).find(
      np.array(hashes, np.uint64)
    )
    self.assertEqual(
      is_known.tolist(), [value in _HASHES.tolist() for value in hashes]
    )
    np.testing.assert_array_equal(found, _ROWS[rows])

  def test_an_empty_index_has_no_known_blocks(self):
    self._complete(_ROWS[:0], _HASHES[:0])
    is_known, found = reuse.Base(self.path, self.plan).find(_HASHES)
    self.assertFalse(is_known.any())
    self.assertEqual(found.shape, (0, 2))

  def test_an_index_of_another_corpus_fits(self):
    self._complete()
    reuse.Base(
      self.path,
      self.plan._replace(corpus_fingerprint='e', num_blocks=9, shard_blocks=1),
    )

  @parameterized.parameters(
    ('embedder_fingerprint', 'e' * 64),
    ('block_tokens', 39),
    ('title_tokens', 2),
    ('embed_dtype', 'bfloat16'),
    ('storage_dtype', 'float16'),
  )
  def test_an_index_embedded_differently_is_a_user_error(self, name, value):
    self._complete()
    with self.assertRaisesRegex(
      errors.UserError, f'Found {name} .* in {self.path}, and {str(value)[:12]}'
    ):
      reuse.Base(self.path, self.plan._replace(**{name: value}))

  def test_a_damaged_index_is_a_user_error(self):
    self._complete()
    pathlib.Path(self.path, 'embeddings-0-x.npy').write_bytes(b'')
    with self.assertRaisesRegex(errors.UserError, '0-x.npy must'):
      reuse.Base(self.path, self.plan)


if __name__ == '__main__':
  absltest.main()
