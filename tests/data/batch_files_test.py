"""Tests for files of realm_tf.data.columns."""

import os

from absl.testing import absltest
import numpy as np

from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import columns
from realm_tf.data import query_table
from tests import tiny

_ARTICLES = [
  sources.Article('a b', 'A b. C d. E f. A a.', 'é 東'),
  sources.Article('', 'ü a.', '2'),
]
_QUERIES = [tiny.query([5, 6], [[0, 1], [1, 2]], 7, 'Zürich'), tiny.query([5])]


class BatchFilesTest(absltest.TestCase):
  def test_batches_come_back(self):
    for batch in (
      block_table.encode(tiny.cut(_ARTICLES)),
      block_table.encode([]),
      query_table.encode(_QUERIES),
      query_table.encode([]),
    ):
      path = os.path.join(self.create_tempdir(), 'batch')
      columns.write_file(batch._asdict(), path)
      self.assertEqual(os.listdir(os.path.dirname(path)), ['batch'])
      read = type(batch)(**columns.read_file(path))
      for got, want in zip(read, batch, strict=True):
        self.assertEqual(type(got), type(want))
        pairs = [(got, want)]
        if isinstance(got, columns.Rows):
          pairs = [(got.values, want.values), (got.offsets, want.offsets)]
        for got_array, want_array in pairs:
          np.testing.assert_array_equal(got_array, want_array)
          self.assertEqual(got_array.dtype, want_array.dtype)

  def test_queries_are_decoded(self):
    encoded = query_table.encode(_QUERIES)
    for i, want in enumerate(_QUERIES):
      got = encoded.query(i)
      np.testing.assert_array_equal(got.ids, want.ids)
      np.testing.assert_array_equal(got.spans, want.spans)
      self.assertEqual(got[2:], want[2:])


if __name__ == '__main__':
  absltest.main()
