"""Tests for realm_tf.training.inverse_cloze.inverse_cloze_batches."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.records import sampling
from realm_tf.training.inverse_cloze import inverse_cloze_batches
from tests import tiny

_ORDINARY_IDS = np.arange(5, 12, dtype=np.int32)


def _config(**changes):
  return tiny.config(inverse_cloze=changes)


def _words(ids):
  return tiny.TOKENIZER.detokenize(ids[ids > 0])


class InverseClozeBatchesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = tiny.open_corpus(self.create_tempdir().full_path)

  def _take(self, number, config, first_step=0):
    batches = inverse_cloze_batches.batches(
      self.table,
      _ORDINARY_IDS,
      config,
      share=sampling.Share(first_step=first_step),
    )
    return list(itertools.islice(batches, number))

  def _assert_same(self, actual, expected):
    for name, value in expected.items():
      np.testing.assert_array_equal(actual[name], value, name)

  @parameterized.parameters((1.0, False), (0.0, True))
  def test_the_sentence_leaves_its_block_at_the_rate(self, rate, stays):
    (batch,) = self._take(1, _config(remove_rate=rate, batch_size=4))
    for query, body in zip(batch['query_ids'], batch['body_ids']):
      sentence = _words(query)
      self.assertLen(sentence.split(), 3)  # Two words and a full stop.
      self.assertEqual(sentence in _words(body), stays)
      self.assertLen(_words(body).split(), 6 if stays else 3)

  def test_the_rest_of_a_block_closes_the_gap(self):
    (batch,) = self._take(1, _config(remove_rate=1.0, batch_size=4))
    bodies = {_words(body) for body in batch['body_ids']}
    sentences = ['a b', 'c d', 'e f', 'a c', 'b d', 'c e', 'd f', 'e a .']
    self.assertContainsSubset(
      bodies, {f'{s.removesuffix(" .")} .' for s in sentences}
    )

  def test_batches_follow_from_seed_and_step_alone(self):
    config = _config(query_noise_rate=0.5)
    whole = self._take(4, config)
    resumed = self._take(2, config, first_step=2)
    self._assert_same(resumed[0], whole[2])
    self._assert_same(resumed[1], whole[3])

  def test_an_epoch_deals_each_block_once(self):
    batches = self._take(2, _config(remove_rate=0.0))
    bodies = [_words(body) for batch in batches for body in batch['body_ids']]
    self.assertLen(set(bodies), self.table.num_blocks)

  def test_noise_changes_the_query_and_not_the_block(self):
    (clean,) = self._take(1, _config(remove_rate=0.0))
    (noisy,) = self._take(1, _config(remove_rate=0.0, query_noise_rate=1.0))
    np.testing.assert_array_equal(noisy['body_ids'], clean['body_ids'])
    self.assertTrue((noisy['query_ids'] != clean['query_ids']).any())
    self.assertEqual((noisy['query_ids'] > 0).sum(), 2 * 3)

  def test_dropped_words_leave_the_query_and_not_the_block(self):
    (whole,) = self._take(1, _config(remove_rate=0.0))
    (part,) = self._take(1, _config(remove_rate=0.0, query_drop_rate=1.0))
    np.testing.assert_array_equal(part['body_ids'], whole['body_ids'])
    self.assertEqual((part['query_ids'] > 0).sum(axis=1).tolist(), [1, 1])

  @parameterized.parameters(
    # [CLS], a title of one wordpiece and two [SEP] leave 3, 5 and 2 wordpieces
    # for the body. Each sentence has 3.
    (7, 3, 3),  # Only the first sentence fits, so it stays.
    (9, 3, 2),  # Only the first fits; two wordpieces of the second stay.
    (6, 2, 2),  # None fits: the query is the start of the first.
  )
  def test_only_sentences_that_are_embedded_whole_are_queries(
    self, block_tokens, query_length, body_length
  ):
    config = tiny.config(
      inverse_cloze={'remove_rate': 1.0}, lengths={'block_tokens': block_tokens}
    )
    starts = {self.table.texts([i])[0][:3].lower() for i in range(4)}
    for batch in self._take(10, config):
      for query, body in zip(batch['query_ids'], batch['body_ids']):
        self.assertIn(_words(query)[:3], starts)
        self.assertEqual(np.count_nonzero(query), query_length)
        self.assertEqual(np.count_nonzero(body), body_length)


if __name__ == '__main__':
  absltest.main()
