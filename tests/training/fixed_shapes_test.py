"""Tests that a job with fixed shapes has one shape.

A TPU's compiler takes minutes for each shape. Other devices trim batches.
"""

import itertools
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.tpu import programs
from realm_tf.training import answer_labels
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_run
from realm_tf.training import pretraining_batches
from tests import fakes
from tests import tiny
from tests.index import small

_NUM_BATCHES = 8
_BLOCK_LENGTHS = (2, 36, 3, 20, 30, 5, 12, 1)
_QUERY_LENGTHS = (4, 40, 9, 50, 33, 6)
_ORDINARY_IDS = np.arange(5, 20, dtype=np.int32)
_OPTIMIZER = config_lib.OptimizerConfig(1e-3, 10)


def _config():
  """Returns a config with lengths above several trimmed widths."""
  return tiny.changed(
    small.CONFIG,
    model={'max_span_width': 2},
    lengths={'query_tokens': 48},
    inverse_cloze=config_lib.InverseClozeConfig(
      _OPTIMIZER, batch_size=2, jit_compile=False
    ),
    pretraining=config_lib.PretrainingConfig(
      _OPTIMIZER,
      batch_size=2,
      num_candidates=2,
      masking='random_span',
      jit_compile=False,
    ),
    finetuning=config_lib.FinetuningConfig(
      _OPTIMIZER,
      batch_size=2,
      num_searched=2,
      num_read=1,
      joint_tokens=56,
      jit_compile=False,
    ),
  )


def _words(lengths):
  rng = np.random.default_rng(1)
  return [rng.choice(_ORDINARY_IDS, length) for length in lengths]


class FixedShapesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.config = _config()
    self.directory = self.create_tempdir().full_path
    self.table = small.open_corpus(self.directory, _BLOCK_LENGTHS)
    self.num_searches = 0

  def _search(self, query_ids, k):
    """Finds other blocks at each call."""
    self.num_searches += 1
    ids = np.arange(k, dtype=np.int32) + self.num_searches
    return np.tile(ids % self.table.num_blocks, [len(query_ids), 1])

  def _pretraining(self, share):
    queries_dir = tiny.write_queries(
      os.path.join(self.directory, str(share)),
      map(tiny.query, _words(_QUERY_LENGTHS)),
      'random_span',
    )
    batches = pretraining_batches.Batches(
      query_table.QueryTable.open(queries_dir),
      self.table,
      fakes.FoundBy(self._search),
      tokenizer=small.TOKENIZER,
      experiment=self.config,
      share=share,
    )
    return iter(batches)

  def _inverse_cloze(self, share):
    return inverse_cloze_run.sentence_batches(
      self.table, _ORDINARY_IDS, self.config, share=share
    )

  def _finetuning(self, share):
    ids = np.zeros([len(_QUERY_LENGTHS), 50], np.int32)
    for row, words in zip(ids, _words(_QUERY_LENGTHS), strict=True):
      row[: len(words)] = words
    answers = [[words[:1]] for words in _words(_QUERY_LENGTHS)]
    given = [questions_lib.Question('?', ('!',))] * len(ids)
    labels = answer_labels.AnswerLabels(
      answer_labels.Questions(given, ids, answers),
      self.table,
      small.TOKENIZER,
      config=self.config.finetuning,
    )
    return finetuning.batches(
      labels,
      fakes.FoundBy(self._search),
      np.zeros([self.table.num_blocks, 4], np.float32),
      experiment=self.config,
      share=share,
    )

  def _shapes(self, job, **share):
    """Returns the different shapes of a job's batches."""
    batches = getattr(self, f'_{job}')(sampling.Share(**share))
    return {
      tuple((name, each.shape) for name, each in sorted(batch.items()))
      for batch in itertools.islice(batches, _NUM_BATCHES)
    }

  @parameterized.parameters('pretraining', 'inverse_cloze', 'finetuning')
  def test_all_batches_have_one_shape(self, job):
    self.assertGreater(len(self._shapes(job)), 1)
    self.assertLen(self._shapes(job, has_fixed_shapes=True), 1)
    of_one_host = self._shapes(job, number=1, count=2, has_fixed_shapes=True)
    self.assertLen(of_one_host, 1)

  @parameterized.parameters('pretraining', 'inverse_cloze', 'finetuning')
  def test_a_plan_for_tpus_has_the_shapes_of_the_job(self, job):
    config = self.config
    if job == 'finetuning':  # The longest block and question of this test.
      longest = {'block_tokens': 36, 'question_tokens': 50}
      config = tiny.changed(config, lengths=longest)
    (program,) = programs.build(job, config, num_cores=1, num_blocks=1)
    batch, _ = program.arguments
    planned = tuple(
      (name, tuple(spec.shape)) for name, spec in sorted(batch.items())
    )
    self.assertEqual({planned}, self._shapes(job, has_fixed_shapes=True))


if __name__ == '__main__':
  absltest.main()
