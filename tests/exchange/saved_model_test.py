"""Tests for realm_tf.exchange.{graph_answerer,saved_model}.

The SavedModel answers in a process without realm_tf.
"""

import os
import tempfile

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.exchange import graph_answerer
from realm_tf.exchange import saved_model
from realm_tf.model import realm_model
from realm_tf.qa import answer_choice
from realm_tf.qa import calibration
from realm_tf.qa import loading
from tests import tiny
from tests.exchange import loaded
from tests.exchange import models

_CASES = {
  # Three questions at a time, so that a batch takes several turns.
  'plain': {'eval_batch_size': 3},
  'all_blocks': {
    'read_titles': True,
    'answer_by': 'text',
    'num_read': 100,  # More than all blocks.
    'num_searched': 100,
    'null_spans': True,
  },
}
_SETTING = {  # Of `all_blocks`.
  **{'retriever': 'model', 'sparse_weight': 0.0, 'num_read': 100},
  **{'answer_by': 'text', 'reader': ''},
}
_BATCHES = [[question] for question in models.QUESTIONS] + [
  list(models.QUESTIONS),
  list(models.QUESTIONS[:4]),
  [],
]


class BestSpansTest(parameterized.TestCase):
  @parameterized.parameters((2, 3), (30, 2))
  def test_finds_the_best_spans(self, length, width):
    shape = [4, 3, length, width]
    rng = np.random.default_rng(0)
    scores = rng.permutation(np.prod(shape)).astype(np.float32) / 8
    scores = scores.reshape(shape)  # Distinct: order is clear.
    scores[rng.random(shape) < 0.3] = interfaces.NO_SCORE
    scores[0, 1] = interfaces.NO_SCORE  # A block without any span,
    scores[1] = interfaces.NO_SCORE  # and a question.
    null = rng.normal(size=shape[:2]).astype(np.float32)
    null[0, 1] = null[1] = interfaces.NO_SCORE
    expected = answer_choice.best_spans(scores, null)
    found = graph_answerer.best_spans(tf.constant(scores), tf.constant(null))
    exists = expected.scores > -np.inf
    number = exists.shape[-1]
    self.assertFalse((found.scores[..., number:] > -np.inf).numpy().any())
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
      np.testing.assert_array_equal(
        ours.numpy()[..., :number][exists], theirs[exists]
      )
    for ours, theirs in zip(found[3:], expected[3:], strict=True):
      np.testing.assert_allclose(ours, theirs, rtol=1e-5)


class SavedModelTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = tempfile.TemporaryDirectory()
    cls.addClassCleanup(directory.cleanup)
    corpus = tiny.write_corpus(directory.name, models.ARTICLES)
    cls.expected, requests = {}, []
    for name, fields in _CASES.items():
      path = os.path.join(directory.name, name)
      models.write_model(path, corpus, **fields)
      if 'null_spans' in fields:
        fitted = calibration.Calibration(1.5, 0.3, -0.2, -0.1, threshold=0.78)
        calibration.write(fitted, _SETTING, path)
      saved = os.path.join(directory.name, f'{name}_saved', '1')
      cls.loaded = loading.load(path, corpus)
      saved_model.export(cls.loaded, saved)
      requests.append({'path': saved, 'batches': _BATCHES})
      answerer = loading.answerer_of(cls.loaded)
      cls.expected[name] = answerer.answer(models.QUESTIONS)
    results = models.run_alone(loaded.__file__, requests)
    cls.outputs = dict(zip(_CASES, results, strict=True))

  def _check(self, expected, output, row):
    """Compares row `row` of an output with an answer."""
    self.assertEqual(output['answers'][row], expected.prediction)
    for name, number in (
      ('scores', expected.score),
      ('probabilities', expected.probability),
      ('null_probabilities', expected.null_probability),
      (
        'retrieval_probabilities',
        [each.retrieval_probability for each in expected.evidence],
      ),
      ('evidence_scores', [each.score for each in expected.evidence]),
    ):
      np.testing.assert_allclose(
        output[name][row], number, rtol=1e-4, atol=1e-5, err_msg=name
      )
    self.assertEqual(output['is_refused'][row], expected.is_refused)
    exact = 'block_ids', 'titles', 'texts', 'starts', 'ends', 'evidence_answers'
    found = list(zip(*(output[name][row] for name in exact), strict=True))
    self.assertEqual(found, [each[:6] for each in expected.evidence])

  @parameterized.parameters(*_CASES)
  def test_batches_of_any_size_have_the_answerers_answers(self, case):
    *alone, of_all, of_four, of_none = self.outputs[case]
    for row, answer in enumerate(self.expected[case]):
      self._check(answer, alone[row], 0)
      self._check(answer, of_all, row)
    for row in range(4):
      self._check(self.expected[case][row], of_four, row)
    self.assertEqual(of_none['answers'], [])
    self.assertEqual(of_none['texts'], [])

  def test_some_calibrated_answers_are_refused(self):
    self.assertNotIn(True, [each.is_refused for each in self.expected['plain']])
    refused = {each.is_refused for each in self.expected['all_blocks']}
    self.assertEqual(refused, {True, False})
    nulls = [e.signals.null for e in self.expected['all_blocks'] if e.signals]
    self.assertGreater(min(nulls), -14)
    # All blocks are read, also blocks with characters of several bytes.
    found = [e for each in self.expected['all_blocks'] for e in each.evidence]
    self.assertTrue(any('😀' in each.text for each in found))

  def test_a_model_without_a_reader_is_refused(self):
    loaded = tiny.changed(self.loaded, parts=[realm_model.EMBEDDER])
    with self.assertRaisesRegex(errors.UserError, 'a model that reads'):
      saved_model.export(loaded, self.create_tempdir().full_path)


if __name__ == '__main__':
  absltest.main()
