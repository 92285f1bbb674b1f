"""Tests for realm_tf.index.tuning.asked_ks."""

import dataclasses

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf.answering import answerer
from realm_tf.index import tuning
from realm_tf.training.inverse_cloze import question_pairs


def _of(num_blocks, num_searched=5000, **pretraining):
  config = config_lib.ExperimentConfig()
  config = dataclasses.replace(
    config,
    pretraining=dataclasses.replace(config.pretraining, **pretraining),
    finetuning=dataclasses.replace(
      config.finetuning, num_searched=num_searched
    ),
  )
  return tuning.asked_ks(config, num_blocks)


class AskedKsTest(absltest.TestCase):
  def test_each_job_is_asked_for(self):
    self.assertEqual(_of(10**6, num_candidates=8), [8, 10, 100, 5000])
    self.assertEqual(_of(10**6, 60, over_retrieval=40), [10, 40, 60, 100])

  def test_no_more_than_all_blocks(self):
    self.assertEqual(_of(50, num_candidates=8), [8, 10, 50])

  def test_constants_of_later_packages_are_covered(self):
    for k in (answerer.NUM_COMPARED, question_pairs._NUM_SEARCHED):
      self.assertIn(k, _of(10**6))


if __name__ == '__main__':
  absltest.main()
