"""Tests for realm_tf.training.pretraining.candidate_report."""

import types

from absl.testing import parameterized
import msgspec
import numpy as np
import tensorflow as tf

from realm_tf.run import examples as examples_lib
from realm_tf.training.pretraining import candidate_report
from tests import fakes
from tests import tiny

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
    candidate_report.write(trainer, self.table, _WORDS, run_dir=run_dir)
    (example,) = examples_lib.read(run_dir)
    return example

  def test_writes_the_candidates_best_first(self):
    # The third candidate is padding.
    example = self._example(_trainer([-1, 1, -1]))
    self.assertEqual((example.step, example.query), (7, 'a b'))
    self.assertEqual(example.pieces(), [('a ', False), ('b', True)])
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
      ''.join(f'[{t}]' if hidden else t for t, hidden in example.pieces()),
      expected,
    )


if __name__ == '__main__':
  tf.test.main()
