"""Tests of properties that all jobs' batches share.

They follow from seed and step alone, several processes share them, and with
fixed shapes all have one shape, since a TPU's compiler takes minutes for each.
"""

import itertools
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import config as config_lib
from realm_tf.corpus import conll
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.tpu import programs
from realm_tf.training import answer_labels
from realm_tf.training import closed_book_trainer
from realm_tf.training import finetuning
from realm_tf.training import inverse_cloze_run
from realm_tf.training import pretraining_batches
from realm_tf.training import taggers
from tests import fakes
from tests import tiny
from tests.index import small

_NUM_BATCHES = 8
_BLOCK_LENGTHS = (2, 36, 3, 20, 30, 5, 12, 1)
_QUERY_LENGTHS = (4, 40, 9, 50, 33, 6, 5, 7, 3, 8, 11, 2)
_ORDINARY_IDS = np.arange(5, 20, dtype=np.int32)
_PLANNED = (
  *('pretraining', 'inverse_cloze', 'finetuning'),
  *('closed_book', 'tagger'),
)
_JOBS = (*_PLANNED, 'questions')
_OPTIMIZER = config_lib.OptimizerConfig(1e-3, 10)


def _config():
  """Returns a config with lengths above several trimmed widths."""
  return tiny.changed(
    small.CONFIG,
    model={'max_span_width': 2},
    lengths={'query_tokens': 48},
    inverse_cloze=config_lib.InverseClozeConfig(
      _OPTIMIZER,
      batch_size=4,
      query_noise_rate=0.5,
      query_drop_rate=0.5,
      jit_compile=False,
    ),
    pretraining=config_lib.PretrainingConfig(
      _OPTIMIZER,
      batch_size=4,
      num_candidates=2,
      inverse_cloze_weight=1.0,
      masking='random_span',
      jit_compile=False,
    ),
    finetuning=config_lib.FinetuningConfig(
      _OPTIMIZER,
      batch_size=4,
      num_searched=2,
      num_read=1,
      joint_tokens=56,
      jit_compile=False,
    ),
    closed_book={'batch_size': 4, 'input_tokens': 48, 'answer_tokens': 4},
    tagger={'batch_size': 4, 'max_tokens': 50},
  )


def _words(lengths):
  rng = np.random.default_rng(1)
  return [rng.choice(_ORDINARY_IDS, length) for length in lengths]


def _with_sentences(block):
  """Returns the block with sentences of three wordpieces; the last has more."""
  length = len(block.body_ids)
  ends = np.append(np.arange(3, length - 2, 3), length)
  return block._replace(sentence_ends=ends.astype(np.int32))


def _together(parts):
  """Joins arrays of different widths."""
  shape = np.max([part.shape[1:] for part in parts], axis=0, initial=0)
  rows = [
    np.pad(row, [(0, n - m) for n, m in zip(shape, row.shape)])
    for part in parts
    for row in part
  ]
  return np.stack(rows)


class BatchesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.config = _config()
    corpus_dir = os.path.join(self.create_tempdir().full_path, 'corpus')
    blocks = map(_with_sentences, small.blocks(_BLOCK_LENGTHS))
    tiny.write_blocks([*blocks], corpus_dir, small.TOKENIZER, 288)
    self.table = block_table.BlockTable.open(corpus_dir)

  def _search(self, query_ids, k):
    """Finds other blocks for other queries."""
    ids = query_ids.sum(axis=1, keepdims=True) + np.arange(k)
    return ids % self.table.num_blocks

  def _pretraining(self, share):
    queries_dir = tiny.write_queries(
      os.path.join(self.create_tempdir().full_path, 'queries'),
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
      sentences=pretraining_batches.Sentences(
        self.table, _ORDINARY_IDS, experiment=self.config, share=share
      ),
    )
    return iter(batches)

  def _inverse_cloze(self, share):
    return inverse_cloze_run.sentence_batches(
      self.table, _ORDINARY_IDS, self.config, share=share
    )

  def _questions(self, share):
    labels = self._labels()
    rows = np.arange(len(_QUERY_LENGTHS))
    return inverse_cloze_run.question_batches(
      rows, rows % self.table.num_blocks, labels, self.config, share=share
    )

  def _labels(self):
    ids = np.zeros([len(_QUERY_LENGTHS), 50], np.int32)
    for row, words in zip(ids, _words(_QUERY_LENGTHS), strict=True):
      row[: len(words)] = words
    answers = [[words[:1]] for words in _words(_QUERY_LENGTHS)]
    given = [questions_lib.Question('?', ('!',))] * len(ids)
    return answer_labels.AnswerLabels(
      answer_labels.Questions(given, ids, answers),
      self.table,
      small.TOKENIZER,
      config=self.config.finetuning,
    )

  def _finetuning(self, share):
    return finetuning.batches(
      self._labels(),
      fakes.FoundBy(self._search),
      tiny.embeddings(self.table.num_blocks),
      experiment=self.config,
      share=share,
    )

  def _closed_book(self, share):
    words = _words(_QUERY_LENGTHS)
    pairs = closed_book_trainer.Pairs(
      len(words),
      lambda rows, rng: (
        [words[row] for row in rows],
        rng.choice(_ORDINARY_IDS, [len(rows), 2]),
      ),
    )
    return closed_book_trainer.batches(
      pairs, small.SPECIAL_IDS[1], experiment=self.config, share=share
    )

  def _tagger(self, share):
    texts = map(small.TOKENIZER.detokenize, _words(_QUERY_LENGTHS))
    sentences = [conll.LabeledSentence(text.split(), ()) for text in texts]
    return taggers.batches(
      sentences, small.TOKENIZER, ['O'], experiment=self.config, share=share
    )

  def _take(self, job, **share):
    batches = getattr(self, f'_{job}')(sampling.Share(**share))
    return list(itertools.islice(batches, _NUM_BATCHES))

  def _shapes(self, job, **share):
    """Returns the different shapes of a job's batches."""
    return {
      tuple((name, each.shape) for name, each in sorted(batch.items()))
      for batch in self._take(job, **share)
    }

  def _assert_same(self, batches, expected_batches):
    for actual, expected in zip(batches, expected_batches, strict=True):
      self.assertEqual(actual.keys(), expected.keys())
      for name, value in expected.items():
        np.testing.assert_array_equal(actual[name], value, name)

  @parameterized.product(job=_JOBS, bucket_batches=(1, 2))
  def test_they_follow_from_seed_and_step_alone(self, job, bucket_batches):
    changes = {'bucket_batches': bucket_batches}
    self.config = tiny.changed(
      self.config, inverse_cloze=changes, finetuning=changes
    )
    whole = self._take(job)
    self._assert_same(self._take(job, first_step=3)[:-3], whole[3:])
    self.config = tiny.changed(self.config, seed=1)
    with self.assertRaises(AssertionError):
      self._assert_same(self._take(job), whole)

  @parameterized.parameters(*_JOBS)
  def test_the_shares_of_two_processes_are_the_whole_batch(self, job):
    shares = [self._take(job, number=i, count=2) for i in range(2)]
    for whole, *parts in zip(self._take(job), *shares, strict=True):
      for name, value in whole.items():
        self.assertLen(parts[0][name], 2)
        joined = _together([part[name] for part in parts])
        np.testing.assert_array_equal(joined, value, name)

  @parameterized.parameters(*_JOBS)
  def test_fixed_shapes_are_one_shape(self, job):
    self.assertGreater(len(self._shapes(job)), 1)
    self.assertLen(self._shapes(job, has_fixed_shapes=True), 1)
    of_one_host = self._shapes(job, number=1, count=2, has_fixed_shapes=True)
    self.assertLen(of_one_host, 1)

  @parameterized.parameters(*_PLANNED)
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
