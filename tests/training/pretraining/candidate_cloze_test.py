"""Tests for realm_tf.training.pretraining.candidate_cloze."""

import numpy as np
import tensorflow as tf

from realm_tf.records import sampling
from realm_tf.training.pretraining import candidate_cloze
from tests import tiny

_ORDINARY_IDS = np.arange(5, 12, dtype=np.int32)


def _config(share=0.0, **changes):
  return tiny.config(inverse_cloze=changes, held_out={'share': share})


def _words(ids):
  return tiny.TOKENIZER.detokenize(ids[ids > 0])


class SentencesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.table = tiny.open_corpus(self.create_tempdir().full_path)

  def _take(self, ids, config, share=sampling.WHOLE):
    ids = np.array([[-1, *row] for row in ids], np.int32)
    (batch,) = candidate_cloze.with_sentences(
      iter([share.take({'candidate_ids': ids})]),
      self.table,
      _ORDINARY_IDS,
      experiment=tiny.changed(config, pretraining={'batch_size': len(ids)}),
      share=share,
    )
    return batch['cloze_ids']

  def test_takes_a_whole_sentence_of_each_block(self):
    ids = [[0, 1], [2, -1]]
    taken = self._take(ids, _config(remove_rate=1.0))
    self.assertFalse(taken[1, 1].any())  # Padding.
    for row, block in ((taken[0, 0], 0), (taken[0, 1], 1), (taken[1, 0], 2)):
      self.assertLen(_words(row).split(), 3)  # Two words and a full stop.
      _, body = self.table.gather([block], 1, 10)
      self.assertIn(_words(row), _words(body[0]))

  def test_drops_the_words_that_the_warm_start_drops(self):
    taken = self._take([[0, 1, 2]], _config(query_drop_rate=1.0))
    self.assertAllEqual((taken > 0).sum(axis=-1), [[1, 1, 1]])

  def test_held_out_articles_give_no_sentence(self):
    self.assertFalse(self._take([[0, 1, 2]], _config(share=1 - 1e-9)).any())

  def test_a_process_makes_its_part_of_the_batch(self):
    ids = [[0, 1], [2, 3], [1, 2], [3, 0]]
    config = _config(query_drop_rate=0.5, query_noise_rate=0.5)
    whole = self._take(ids, config)
    part = self._take(ids, config, sampling.Share(1, 2))
    width = part.shape[2]
    self.assertAllEqual(part, whole[2:, :, :width])
    self.assertFalse(whole[2:, :, width:].any())


class LossTest(tf.test.TestCase):
  def test_matches_hand_computation(self):
    # The blocks' scores are log 1, log 2, log 1 and log 5.
    queries = tf.ones([4, 1])
    blocks = tf.math.log([[1.0], [2.0], [1.0], [5.0]])
    ids = tf.constant([3, 7, 3, -1])
    losses = candidate_cloze.loss(
      queries, blocks, ids, has_query=tf.constant([True, True, True, False])
    )
    # 1 / (1 + 2): not the copy of block 3 nor padding; then 2 / (2 + 1 + 1).
    self.assertAllClose(tf.exp(-losses[:3]), [1 / 3, 2 / 4, 1 / 3], rtol=1e-5)
    self.assertEqual(losses[3], 0.0)

  def test_gradient_matches_a_softmax(self):
    queries, ids = tf.ones([2, 1]), tf.constant([0, 1])
    blocks = tf.Variable(tf.math.log([[1.0], [3.0]]))
    with tf.GradientTape() as tape:
      loss = candidate_cloze.loss(
        queries, blocks, ids, has_query=tf.constant([True, False])
      )
    # The gradient of -log p(z_0): p - 1, and p of the other block.
    self.assertAllClose(tape.gradient(loss, blocks), [[1 / 4 - 1], [3 / 4]])


if __name__ == '__main__':
  tf.test.main()
