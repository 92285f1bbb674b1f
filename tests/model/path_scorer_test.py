"""Tests for realm_tf.model.path_scorer."""

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf import interfaces
from realm_tf.model import path_scorer

_SIZE = 4


def _log_softmax(scores):
  scores = np.array(scores, float)
  return scores - np.log(np.exp(scores).sum())


class PathScorerTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    rng = np.random.default_rng(0)
    self.queries = rng.normal(size=[2, _SIZE]).astype(np.float32)
    self.blocks = rng.normal(size=[2, 3, 1 + 2, _SIZE]).astype(np.float32)
    self.exists = np.ones([2, 3, 3], bool)
    self.scorer = path_scorer.PathScorer(_SIZE)
    self._score()  # Creates the variables.

  def _score(self):
    return self.scorer(
      tf.constant(self.queries),
      tf.constant(self.blocks),
      tf.constant(self.exists),
    ).numpy()

  def _randomize(self):
    rng = np.random.default_rng(1)
    for variable in self.scorer.variables:
      variable.assign(rng.normal(size=variable.shape) / 2)

  def test_an_untrained_scorer_scores_by_the_question(self):
    query, blocks = self.queries[1], self.blocks[1]
    first = _log_softmax(blocks[:, 0] @ query)
    second = _log_softmax([0, *blocks[2, 1:] @ query])
    np.testing.assert_allclose(
      self._score()[1, 2], first[2] + second, rtol=1e-5
    )

  def test_a_step_follows_the_formula(self):
    self._randomize()
    norm, hidden, change, end = (
      [
        v.numpy()
        for v in self.scorer.variables
        if v.name.split('/')[-2] == name
      ]
      for name in ('norm', 'hidden', 'change', 'end')
    )
    query, blocks = self.queries[0], self.blocks[0]
    known = np.concatenate([query, blocks[1, 0]])
    known = (known - known.mean()) / np.sqrt(known.var() + 1e-3)
    known = known * norm[0] + norm[1]
    inner = np.maximum(known @ hidden[0] + hidden[1], 0)
    state = query + inner @ change[0] + change[1]
    second = _log_softmax([*(state @ end[0] + end[1]), *blocks[1, 1:] @ state])
    first = _log_softmax(blocks[:, 0] @ query)[1]
    np.testing.assert_allclose(self._score()[0, 1], first + second, rtol=1e-4)

  def test_probabilities_of_existing_paths_add_up_to_one(self):
    self._randomize()
    self.exists[0, 0, 1:] = False  # A seed without links.
    self.exists[1, 2] = False  # A missing seed.
    self.exists[1, 1, 2] = False
    paths = self._score()
    np.testing.assert_allclose(np.exp(paths).sum(axis=(1, 2)), 1, rtol=1e-5)
    np.testing.assert_array_equal(paths[~self.exists], interfaces.NO_SCORE)
    only_end = _log_softmax(self.blocks[0, :, 0] @ self.queries[0])[0]
    self.assertAlmostEqual(float(paths[0, 0, 0]), only_end, places=4)


if __name__ == '__main__':
  absltest.main()
