"""Tests of the waiting of realm_tf.training.held_out_versions."""

import types
from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.config import names
from realm_tf.index import embedding
from realm_tf.index import model_files
from realm_tf.run import layout
from realm_tf.run import metrics_log
from realm_tf.run import versions
from realm_tf.training import held_out_versions
from realm_tf.training import job
from tests import fakes
from tests import tiny

_METRIC = names.HELD_OUT_METRICS[0]
_STEP = 10
_BLOCKS = [0, 2, 1]  # Hits of every query, best first; only block 1 has 'f'.


class _Clock:
  """Time that passes only in `sleep`, which runs the events."""

  def __init__(self):
    self.now = 0.0
    self.events = {}  # Seconds -> function.

  def monotonic(self):
    return self.now

  def sleep(self, secs):
    self.now += secs
    for when in [when for when in self.events if when <= self.now]:
      self.events.pop(when)()


class HeldOutVersionsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.run_dir = self.create_tempdir().full_path
    self.clock = _Clock()
    self.enter_context(mock.patch.object(held_out_versions, 'time', self.clock))
    self.enter_context(mock.patch.object(model_files, 'read_params'))
    self._publish(layout.params_root)
    self.versions = held_out_versions.HeldOutVersions(
      types.SimpleNamespace(
        index_layer=lambda path: None, measure=lambda found: {_METRIC: -1.0}
      ),
      types.SimpleNamespace(variables=[], load=lambda arrays: None),
      self.run_dir,
      until=0,
    )

  def _publish(self, root):
    versions.publish(root(self.run_dir), _STEP, lambda path: None, {})

  def _measured(self):
    path = layout.held_out_file(self.run_dir)
    return metrics_log.values(path, _METRIC)

  def test_a_run_with_a_dead_refresher_ends(self):
    with self.assertLogs(level='WARNING') as logs:
      self.versions.wait_for(_STEP)
    self.assertBetween(self.clock.now, 30, 31)
    self.assertIn('No index of step 10 came in 30 s', logs.output[0])
    self.assertEmpty(self._measured())

  def test_an_index_that_comes_late_is_measured(self):
    self.clock.events[20] = lambda: self._publish(layout.index_root)
    self.versions.wait_for(_STEP)
    self.assertBetween(self.clock.now, 20, 21)
    self.assertEqual(self._measured(), {_STEP: -1.0})


def _score(batch):
  """Scores K = 3 blocks: p(z|x) = 1/4, 1/4, 1/2 and p(y|z,x) = .1, .2, .4."""
  size = batch['query_ids'].shape[0]
  scores = tf.math.log([[1.0, 1.0, 2.0]])
  log_p = tf.math.log([[[0.1, 1.0], [0.2, 1.0], [0.4, 1.0]]])
  return tf.tile(scores, [size, 1]), tf.tile(log_p, [size, 1, 1])


class HeldOutQueriesTest(absltest.TestCase):
  def _measure(self, config):
    directory = self.create_tempdir().full_path
    table = tiny.open_corpus(directory)
    queries = tiny.open_queries(
      directory,
      [
        ('a b .', [[0, 1]], 0),  # Blocks 2 and 1: the second has 'a'.
        ('f a .', [[0, 1]], 1),  # Blocks 0 and 2: neither has 'f'.
        ('b d .', [[0, 1]], 2),  # Blocks 0 and 1: the first has 'b'.
      ],
    )
    inputs = mock.Mock(
      spec=job.Inputs, config=config, table=table, tokenizer=tiny.TOKENIZER
    )
    with mock.patch.object(embedding, 'compile_queries'):
      held_out = held_out_versions.HeldOutQueries(
        inputs,
        queries,
        np.arange(3),
        trainer=types.SimpleNamespace(model=None, score=_score),
      )
    # A batch has 2 queries, so the first query fills the last batch up.
    return held_out.measure(fakes.FakeRetriever(_BLOCKS, [0.0] * 3))

  def test_means_leave_out_own_blocks(self):
    found = self._measure(tiny.config())
    p_y = 0.1 / 4 + 0.2 / 4 + 0.4 / 2
    expected = {
      'held_out_log_likelihood': np.log(p_y),
      'held_out_utility': np.log(p_y / 0.1),
      'held_out_p_null': 1 / 4,
      'held_out_recall@1': 1 / 3,
      'held_out_recall@5': 2 / 3,
      'held_out_recall@20': 2 / 3,
    }
    self.assertEqual(found.keys(), expected.keys())
    for name, value in expected.items():
      self.assertAlmostEqual(found[name], value, 5, name)

  def test_a_readers_warm_up_is_measured_with_blocks_that_have_the_span(self):
    def score(batch):
      """Returns the block's number as log p(y|z,x)."""
      chosen = tf.cast(batch['candidate_ids'], tf.float32)  # [B, 1]
      return tf.zeros_like(chosen), tf.stack([chosen] * 2, axis=2)

    with mock.patch.dict(globals(), _score=score):
      found = self._measure(
        tiny.config(
          pretraining={'candidates': 'recurring_span', 'num_candidates': 1}
        )
      )
    # The read blocks are 1 (it has 'a'), 0 (none has 'f') and 0 (it has 'b').
    self.assertAlmostEqual(found['held_out_log_likelihood'], 1 / 3, 5)
    self.assertNotIn('held_out_p_null', found)


if __name__ == '__main__':
  absltest.main()
