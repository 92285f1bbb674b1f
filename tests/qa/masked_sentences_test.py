"""Tests for realm_tf.qa.masked_sentences."""

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.data import masking
from realm_tf.qa import masked_sentences
from tests import fakes
from tests import tiny

_HOW = masking.Masking('salient', 6, 2, tiny.TOKENIZER.mask_id)
_BLOCKS = [0, 2, 1]  # Hits of every query, best first; only block 1 has 'f'.


class MaskedSentencesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._dir = self.create_tempdir().full_path
    self._table = tiny.open_corpus(self._dir)
    self._queries = tiny.open_queries(
      self._dir,
      [
        ('a b .', [[0, 1]], 0),  # Own block 0; of 2 and 1, the second has 'a'.
        ('f a .', [[0, 1]], 1),  # Own block 1; neither 0 nor 2 has 'f'.
        ('b d .', [[0, 1]], 2),  # Own block 2; of 0 and 1, the first has 'b'.
      ],
    )

  def _mask(self, share):
    return masked_sentences.mask(
      self._queries, self._table, share, _HOW, seed=0
    )

  def test_recall_leaves_out_the_own_block(self):
    metrics = masked_sentences.measure(
      self._mask(0.0),
      self._table,
      tiny.TOKENIZER,
      retriever=fakes.FakeRetriever(_BLOCKS, [0.0] * 3),
      recall_at=[1, 2],
    )
    self.assertEqual(metrics['num_sentences'], 3)
    self.assertAlmostEqual(metrics['span_recall@1'], 100 / 3)
    self.assertAlmostEqual(metrics['span_recall@2'], 200 / 3)
    self.assertEqual(sorted(metrics['span_ranks']), [0, 1, 2])
    low, high = metrics['span_intervals']['span_recall@2']
    self.assertLess(low, 200 / 3)
    self.assertGreater(high, 200 / 3)

  def test_only_sentences_of_held_out_articles_count(self):
    share = next(
      share for share in np.arange(0.05, 1, 0.05) if self._numbers(share)
    )
    self.assertLess(len(self._mask(share)['query_ids']), 3)

  def _numbers(self, share):
    try:
      return len(self._mask(share)['query_ids'])
    except errors.UserError:
      return 0

  def test_no_held_out_sentence_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'Raise --held_out_share'):
      self._mask(1e-9)


if __name__ == '__main__':
  absltest.main()
