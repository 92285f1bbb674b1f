"""Tests for realm_tf.training.inverse_cloze.held_out_cloze."""

import types
from unittest import mock

from absl.testing import absltest
import numpy as np
import tensorflow as tf

from realm_tf.training import runs
from realm_tf.training.inverse_cloze import held_out_cloze
from tests import tiny

_WORDS = tf.eye(tiny.TOKENIZER.vocab_size)
_FULL_STOP = tiny.TOKENIZER.tokenize('.').ids[0]


def _embed(batch, training):
  """Counts the words of a text: common words of two texts give the score."""
  assert not training
  counted = (
    tf.reduce_sum(tf.gather(_WORDS, batch[name]), axis=1)
    * tf.constant(np.arange(_WORDS.shape[0]) > _FULL_STOP, tf.float32)
    for name in ('query_ids', 'body_ids')
  )
  return tuple(counted)


class HeldOutClozeTest(absltest.TestCase):
  def test_words_find_the_block_with_the_sentence_left_in(self):
    inputs = mock.Mock(
      spec=runs.Inputs,
      config=tiny.config(),
      table=tiny.open_corpus(self.create_tempdir().full_path),
      ordinary_ids=np.arange(5, 12, dtype=np.int32),
    )
    found = held_out_cloze.measure(
      inputs, types.SimpleNamespace(embed=_embed), np.array([0, 1])
    )
    # 'a b. c d.' and 'e f. a c.': a block with its sentence left in has both
    # words. With the sentence cut out, it has none, and the other at most one.
    self.assertEqual(found['held_out_accuracy_left_in'], 1.0)
    self.assertLess(found['held_out_accuracy'], 1.0)


if __name__ == '__main__':
  absltest.main()
