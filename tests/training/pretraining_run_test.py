"""Tests for realm_tf.training.pretraining_run."""

import os
import shutil
import types
from unittest import mock

from absl.testing import parameterized
import msgspec
import numpy as np
import tensorflow as tf

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.config import names
from realm_tf.model import realm_model
from realm_tf.model import weights
from realm_tf.run import examples as examples_lib
from realm_tf.run import layout
from realm_tf.run import versions
from realm_tf.training import held_out_versions
from realm_tf.training import job
from realm_tf.training import loop
from realm_tf.training import pretraining_run
from tests import fakes
from tests import tiny

_NUM_STEPS = 3


class PretrainingRunTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    directory = self.create_tempdir().full_path
    self.run_dir = os.path.join(directory, 'run')
    self.corpus_dir = tiny.write_corpus(directory)
    self.enter_context(tiny.eagerly())
    ids = tiny.TOKENIZER.tokenize('a b . c d .').ids
    self.queries_dir = tiny.write_queries(
      directory, [tiny.query(ids, [[0, 1]], text=str(i)) for i in range(8)]
    )

  def _run(
    self,
    num_steps=_NUM_STEPS,
    resume=False,
    share=0.0,
    init_from=None,
    keep_best=None,
    **changes,
  ):
    config = tiny.config(
      held_out={'share': share, 'num_queries': 3},
      pretraining={'log_every_steps': 1, **changes},
    )
    config = tiny.changed(
      config, pretraining={'optimizer': {'num_steps': num_steps}}
    )
    pretraining_run.run(
      job.open_inputs(config, self.corpus_dir),
      self.queries_dir,
      job.Job(self.run_dir, init_from or job.InitFrom(), resume=resume),
      retriever=fakes.FoundBy(
        lambda ids, k: np.tile(np.arange(k) % 4, [len(ids), 1])
      ),
      keep_best=keep_best,
    )

  def _published(self):
    return versions.steps(layout.params_root(self.run_dir))

  def test_publishes_the_first_the_last_and_every_refresh(self):
    self._run(refresh_every_steps=2)
    self.assertEqual(self._published(), [0, 2, _NUM_STEPS])

  @parameterized.parameters(
    dict(optimizer=config_lib.OptimizerConfig(1e-2, embedder_rate_scale=0.0)),
    dict(num_candidates=1, share=0.5),  # Without blocks.
  )
  def test_a_retriever_that_does_not_learn_does_not_change(self, **changes):
    self._run(2, **changes)
    first, last = map(self._weights, (0, 2))
    for name, value in first.items():
      if name.startswith(realm_model.EMBEDDER_PREFIXES):
        np.testing.assert_array_equal(last[name], value, name)
    name = 'reader_bert/word_embeddings/embeddings'
    self.assertTrue((last[name] != first[name]).any())

  def test_a_resumed_run_makes_the_index_no_fresher(self):
    self._run(refresh_every_steps=2)
    # Like a crash after the checkpoint of step 3, before its publication.
    shutil.rmtree(
      versions.version_path(layout.params_root(self.run_dir), _NUM_STEPS)
    )
    self._run(5, resume=True, refresh_every_steps=2)
    self.assertEqual(self._published(), [2, 4, 5])
    steps = [
      row['step'] for row in tiny.read_rows(layout.metrics_file(self.run_dir))
    ]
    self.assertEqual(steps, list(range(1, 6)))

  def _held_out(self):
    return tiny.read_rows(layout.held_out_file(self.run_dir))

  def _weights(self, step):
    root = layout.params_root(self.run_dir)
    return weights.read(layout.params_file(versions.version_path(root, step)))

  def test_every_version_is_measured_without_a_change_of_training(self):
    self._run(refresh_every_steps=2, share=0.5)
    rows = self._held_out()
    self.assertEqual([row['step'] for row in rows], [0, 2, _NUM_STEPS])
    for row in rows:
      # Blocks 0 to 3 are found; block 0 has the masked 'a'.
      self.assertEqual(row['held_out_recall@1'], 1.0)
      self.assertLess(row['held_out_log_likelihood'], 0.0)
      self.assertBetween(row['held_out_p_null'], 0.0, 1.0)
    measured = self._weights(_NUM_STEPS)
    self.run_dir += '_unmeasured'
    with mock.patch.object(
      held_out_versions, 'choose', lambda *_: np.zeros(0, np.int64)
    ):
      self._run(refresh_every_steps=2, share=0.5)
    for name, value in self._weights(_NUM_STEPS).items():
      np.testing.assert_array_equal(value, measured[name])

  def _run_measured(self, values, **changes):
    values = iter(values)
    with mock.patch.object(
      held_out_versions.HeldOutQueries,
      'measure',
      lambda *_: dict.fromkeys(names.HELD_OUT_METRICS, next(values)),
    ):
      self._run(
        refresh_every_steps=1,
        share=0.5,
        keep_best='held_out_utility',
        **changes,
      )

  def _best(self):
    return versions.newest(layout.params_root(layout.best_dir(self.run_dir)))

  def test_keep_best_makes_a_model_directory_of_the_best(self):
    self._run_measured([1.0, 9.0, 2.0, 3.0])
    newest = versions.newest(layout.params_root(self.run_dir))
    self.assertEqual(newest.step, _NUM_STEPS)
    self.assertEqual(self._best().step, 1)
    versions.verify(self._best().path)
    best, last = self._weights(1), self._weights(_NUM_STEPS)
    kept = weights.read(layout.params_file(self._best().path))
    for name, value in kept.items():
      np.testing.assert_array_equal(value, best[name])
    self.assertTrue(any((kept[name] != last[name]).any() for name in kept))
    run_dir, best_dir = self.run_dir, layout.best_dir(self.run_dir)
    self.run_dir += '_2'
    self._run(1, init_from=job.InitFrom(best_dir))
    for name, value in self._weights(0).items():
      np.testing.assert_array_equal(value, best[name])

    # Resumed, step 4 = 3 + 1 is the new best, with its own parameters.
    self.run_dir = run_dir
    self._run_measured([10.0, 0.0], num_steps=5, resume=True)
    self.assertEqual(self._best().step, 4)
    kept = weights.read(layout.params_file(self._best().path))
    self.assertTrue(any((kept[name] != best[name]).any() for name in kept))

  def test_a_resumed_run_makes_the_same_choice(self):
    options = dict(
      num_steps=4,
      refresh_every_steps=3,
      checkpoint_every_steps=2,
      share=0.5,
      keep_best='held_out_log_likelihood',
    )
    self._run(**options)
    rows, whole_dir = self._held_out(), self.run_dir
    self.run_dir += '_killed'
    train = loop.Loop.train

    def killed(run_loop, until, batches):
      if run_loop.step >= 3:
        raise KeyboardInterrupt
      train(run_loop, until, batches)

    with (
      mock.patch.object(loop.Loop, 'train', killed),
      self.assertRaises(KeyboardInterrupt),
    ):
      self._run(**options)
    self._run(**options, resume=True)
    for found, expected in zip(self._held_out(), rows, strict=True):
      self.assertEqual(found['step'], expected['step'])
      for name, value in expected.items():
        self.assertAlmostEqual(found[name], value, 4)
    best = self._best().step
    self.run_dir = whole_dir
    self.assertEqual(best, self._best().step)

  def test_keep_best_needs_held_out_queries(self):
    with self.assertRaisesRegex(errors.UserError, 'held_out.share=0.0'):
      self._run(keep_best='held_out_utility')
    self.assertFalse(os.path.exists(self.run_dir))


_WORDS = fakes.tokenizer('. a b c d ##e ##f')
_MASK = _WORDS.mask_id


def _id(piece):
  return _WORDS.vocabulary.index(piece)


def _trainer(candidate_ids):
  """Returns a trainer with the last batch 'a [MASK]'; the mask hides 'b'."""
  return types.SimpleNamespace(
    global_step=tf.Variable(7),
    last_batch={
      'query_ids': np.array([[_id('a'), _MASK, 0]], np.int32),
      'masked_positions': np.array([[1, 0]], np.int32),
      'gold_ids': np.array([[_id('b'), 0]], np.int32),
      'token_mask': np.array([[1.0, 0.0]], np.float32),
      'candidate_ids': np.array([candidate_ids], np.int32),
    },
    # p(z|x) = [1/4, 3/4, 0] and p(y|z,x) = [0.1, 0.8, 0.5].
    score=lambda batch: (
      tf.math.log([[1.0, 3.0, 1e-9]]),
      tf.math.log([[[0.1, 1.0], [0.8, 1.0], [0.5, 1.0]]]),
    ),
  )


class CandidateReportTest(tf.test.TestCase, parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = fakes.FakeTable(
      tiny.TOKENIZER, ['A', 'C', 'D'], ['a b.', 'c |\nd.', 'd']
    )

  def _example(self, trainer):
    run_dir = self.create_tempdir().full_path
    pretraining_run.write_examples(trainer, self.table, _WORDS, run_dir=run_dir)
    (example,) = examples_lib.read(run_dir)
    return example

  def test_writes_the_candidates_best_first(self):
    # The third candidate is padding.
    example = self._example(_trainer([-1, 1, -1]))
    self.assertEqual((example.step, example.query), (7, 'a b'))
    self.assertEqual(
      examples_lib.cut_at(example.query, example.masked),
      [('a ', False), ('b', True)],
    )
    best, null = map(msgspec.structs.astuple, example.candidates)
    self.assertEqual(best[:3], (1, 'C', 'c |\nd.'))
    self.assertEqual(null[:3], (None, '', ''))
    # log 0.8 - log 0.1 = log 8; the null block's own utility is 0.
    self.assertAllClose(best[3:], [0.75, 0.8, np.log(8.0)], atol=1e-5)
    self.assertAllClose(null[3:], [0.25, 0.1, 0.0], atol=1e-5)

  def test_without_a_null_block_there_is_no_utility(self):
    example = self._example(_trainer([0, 1, 2]))
    self.assertEqual([c.block_id for c in example.candidates], [1, 0, 2])
    self.assertEqual({c.utility for c in example.candidates}, {None})

  @parameterized.named_parameters(
    ('whole_word', ['a', 'b', '##e', 'c'], [1, 2], 'a [be] c'),
    ('part_of_a_word', ['b', '##e', '##f'], [1], 'b[e]f'),
    ('two_places', ['a', 'b', 'c', '##e'], [0, 2, 3], '[a] b [ce]'),
    ('begins_within_a_word', ['##e', 'a'], [0], '[e] a'),
    ('nothing', ['a', 'b'], [], 'a b'),
  )
  def test_marks_the_masked_pieces(self, pieces, masked, expected):
    trainer = _trainer([-1, 1, -1])
    ids = np.array([_id(piece) for piece in pieces], np.int32)
    shown = ids.copy()
    shown[masked] = _MASK
    pad = [0] * (3 - len(masked))
    trainer.last_batch.update(
      query_ids=np.array([[*shown, 0, 0]], np.int32),
      masked_positions=np.array([masked + pad], np.int32),
      gold_ids=np.array([[*ids[masked], *pad]], np.int32),
      token_mask=np.array([[1.0] * len(masked) + pad], np.float32),
    )
    trainer.score = lambda batch: (tf.zeros([1, 3]), tf.zeros([1, 3, 3]))
    example = self._example(trainer)
    self.assertEqual(
      ''.join(
        f'[{t}]' if hidden else t
        for t, hidden in examples_lib.cut_at(example.query, example.masked)
      ),
      expected,
    )


if __name__ == '__main__':
  tf.test.main()
