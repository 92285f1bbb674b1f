"""Tests for realm_tf.retrieval.tfidf."""

import math

from absl.testing import absltest
import numpy as np

from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import tfidf


def _retriever():
  return tfidf.TfidfRetriever(
    ['Paris', 'Rome', 'Lyon', 'Oslo'],
    ['city', 'city', 'river town river', 'town river'],
  )


class TfidfRetrieverTest(absltest.TestCase):
  def test_score_matches_hand_computation(self):
    # Only Lyon has "lyon" and "river town": n = 1 of 4, idf = ln(3.5 / 1.5).
    # "river" is in 2 of 4 blocks: ln(2.5 / 2.5) = 0, at any frequency.
    found = _retriever().retrieve(
      retriever_lib.of_texts(['Lyon river town?']), k=4
    )
    idf = math.log(3.5 / 1.5)
    # "lyon", "river town" and "lyon river", each once in question and block.
    expected = 3 * (math.log(2) * idf) ** 2
    np.testing.assert_array_equal(found.block_ids, [[2, -1, -1, -1]])
    np.testing.assert_allclose(found.scores[0, 0], expected, rtol=1e-5)
    self.assertTrue(np.isneginf(found.scores[0, 1:]).all())

  def test_the_order_of_words_counts(self):
    found = _retriever().retrieve(
      retriever_lib.of_texts(['town river', 'river town']), k=1
    )
    np.testing.assert_array_equal(found.block_ids[1], [2])
    # Both Lyon and Oslo have "town river": its idf is 0.
    np.testing.assert_array_equal(found.block_ids[0], [-1])

  def test_a_batch_gives_the_scores_of_single_questions(self):
    texts = [f'word{i} word{i % 7} word{i % 5}' for i in range(40)]
    retriever = tfidf.TfidfRetriever([''] * 40, texts)
    together = retriever.retrieve(retriever_lib.of_texts(texts * 2), k=3)
    for row, text in enumerate(texts):
      alone = retriever.retrieve(retriever_lib.of_texts([text]), k=3)
      np.testing.assert_array_equal(alone.scores[0], together.scores[row])


if __name__ == '__main__':
  absltest.main()
