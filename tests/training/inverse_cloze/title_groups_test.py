"""Tests for realm_tf.training.inverse_cloze.title_groups."""

from absl.testing import absltest
import numpy as np

from realm_tf.training.inverse_cloze import title_groups

_TITLES = ['a'] * 6 + ['b'] * 4 + ['c'] * 2


def _sampler(of_title, batch_size=4, block_ids=None, seed=0):
  number = len(_TITLES)
  block_ids = np.arange(number) if block_ids is None else block_ids
  return title_groups.sampler(
    block_ids,
    _TITLES,
    np.full(number, 9, np.int32),
    batch_size=batch_size,
    of_title=of_title,
    bucket_batches=1,
    seed=seed,
  )


class TitleGroupsTest(absltest.TestCase):
  def test_blocks_of_a_group_differ_if_the_title_has_others(self):
    block_ids = np.arange(12) // 2
    deal = _sampler(3, 3, block_ids)
    for step in range(3):
      group = deal(step)
      if {_TITLES[i] for i in group} == {'a'}:
        self.assertLen({*block_ids[group]}, 3)

  def test_a_size_that_does_not_divide_the_batch_is_lowered(self):
    deal = _sampler(6, 4)  # The greatest common divisor is 2.
    for half in deal(0).reshape(2, 2):
      self.assertLen({_TITLES[i] for i in half}, 1)


if __name__ == '__main__':
  absltest.main()
