"""Tests for realm_tf.data.sampling.Share, and that batches follow it."""

import dataclasses

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.data import sampling
from realm_tf.training import inverse_cloze_run
from realm_tf.training import pretraining_batches
from tests import fakes
from tests import tiny

_ORDINARY_IDS = np.arange(5, 12, dtype=np.int32)
_TEXTS = ('a b . c d .', 'e f . a c .', 'b d . c e .', 'd f . e a .', 'f f')
_BATCH_SIZE, _NUM_STEPS = 4, 3


def _config():
  config = tiny.config()
  return dataclasses.replace(
    config,
    inverse_cloze=dataclasses.replace(
      config.inverse_cloze, batch_size=_BATCH_SIZE, query_noise_rate=0.5
    ),
    pretraining=dataclasses.replace(
      config.pretraining, batch_size=_BATCH_SIZE, masking='random_token'
    ),
  )


def _steps(batches):
  return [next(batches) for _ in range(_NUM_STEPS)]


def _together(parts):
  """Joins arrays of different widths."""
  shape = np.max([part.shape[1:] for part in parts], axis=0, initial=0)
  rows = [
    np.pad(row, [(0, n - m) for n, m in zip(shape, row.shape)])
    for part in parts
    for row in part
  ]
  return np.stack(rows)


class ShareTest(parameterized.TestCase):
  def test_the_rows_of_each_process(self):
    rows = [sampling.Share(i, 3).rows(6) for i in range(3)]
    self.assertEqual(rows, [slice(0, 2), slice(2, 4), slice(4, 6)])
    batch = {'a': np.arange(6), 'b': np.arange(12).reshape([6, 2])}
    taken = sampling.Share(2, 3).take(batch)
    self.assertEqual(taken['a'].tolist(), [4, 5])
    self.assertEqual(taken['b'].tolist(), [[8, 9], [10, 11]])
    self.assertEqual(sampling.WHOLE.take(batch)['a'].tolist(), [*range(6)])

  def test_trims_unless_shapes_are_fixed(self):
    ids = np.array([[1, 2, 3, 0, 0, 0], [1, 0, 0, 0, 0, 0]])
    self.assertEqual(sampling.WHOLE.trim(ids, 2).shape, (2, 4))
    fixed = sampling.Share(has_fixed_shapes=True)
    self.assertEqual(fixed.trim(ids, 2).shape, (2, 6))


class SharedBatchesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    self.queries = tiny.open_queries(
      directory,
      [(text, [], i) for i, text in enumerate(_TEXTS)],
      'random_token',
    )

  def _inverse_cloze(self, share):
    return inverse_cloze_run.sentence_batches(
      self.table, _ORDINARY_IDS, _config(), share=share
    )

  def _pretraining(self, share):
    # Different queries find different blocks.
    search = lambda ids, k: (ids.sum(axis=1)[:, None] + np.arange(k)) % 4
    return pretraining_batches.batches(
      self.queries,
      self.table,
      fakes.FoundBy(search),
      tokenizer=tiny.TOKENIZER,
      experiment=_config(),
      share=share,
    )

  @parameterized.parameters('_inverse_cloze', '_pretraining')
  def test_the_shares_of_two_processes_are_the_whole_batch(self, name):
    make = getattr(self, name)
    wholes = _steps(make(sampling.WHOLE))
    shares = [_steps(make(sampling.Share(i, 2))) for i in range(2)]
    for whole, *parts in zip(wholes, *shares, strict=True):
      for field, value in whole.items():
        self.assertLen(parts[0][field], _BATCH_SIZE // 2)
        joined = _together([part[field] for part in parts])
        np.testing.assert_array_equal(joined, value, field)

  @parameterized.parameters('_inverse_cloze', '_pretraining')
  def test_a_share_starts_at_any_step(self, name):
    make = getattr(self, name)
    whole = _steps(make(sampling.Share(1, 2)))
    later = next(make(sampling.Share(1, 2, first_step=2)))
    for field, value in whole[2].items():
      np.testing.assert_array_equal(later[field], value, field)


if __name__ == '__main__':
  absltest.main()
