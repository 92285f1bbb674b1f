"""Tests for realm_tf.retrieval.bm25."""

import math

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.retrieval import bm25
from realm_tf.retrieval import retriever as retriever_lib


class Bm25RetrieverTest(absltest.TestCase):
  def test_score_matches_hand_computation(self):
    # Lucene's BM25, k1 = 0.9, b = 0.4. 3 blocks of 2, 2 and 5 words: mean 3.
    # "river" is in 1 of 3 blocks: idf = ln(1 + (3 - 1 + .5) / (1 + .5)).
    # Block 2 has it twice in 5 words:
    #   tf = 2 / (2 + 0.9 * (0.6 + 0.4 * 5 / 3)) = 2 / 3.14.
    retriever = bm25.Bm25Retriever(
      ['Paris', 'Rome', 'Lyon'], ['city', 'city', 'river city river town']
    )
    found = retriever.retrieve(retriever_lib.of_texts(['river']), k=1)
    expected = math.log(1 + 2.5 / 1.5) * 2 / 3.14
    np.testing.assert_array_equal(found.block_ids, [[2]])
    np.testing.assert_allclose(found.scores, [[expected]], rtol=1e-5)

  def test_titles_and_inflected_words_are_found(self):
    retriever = bm25.Bm25Retriever(
      ['Danube', 'Rhine', 'Elbe'], ['a river', 'it floods', 'a stream']
    )
    found = retriever.retrieve(
      retriever_lib.of_texts(['Which one was flooding?', 'danube']), k=1
    )
    np.testing.assert_array_equal(found.block_ids, [[1], [0]])

  def test_the_batch_does_not_change_the_order(self):
    texts = ['red', 'red green', 'red green blue']
    retriever = bm25.Bm25Retriever([''] * 3, texts)
    questions = ['green blue', 'red']
    together = retriever.retrieve(retriever_lib.of_texts(questions), k=2)
    np.testing.assert_array_equal(together.block_ids[0], [2, 1])
    for row, question in enumerate(questions):
      alone = retriever.retrieve(retriever_lib.of_texts([question]), k=2)
      np.testing.assert_array_equal(alone.block_ids[0], together.block_ids[row])

  def test_equal_scores_are_in_the_order_of_blocks(self):
    retriever = bm25.Bm25Retriever([''] * 200, ['red', 'green'] * 100)
    found = retriever.retrieve(retriever_lib.of_texts(['green', 'x']), k=3)
    np.testing.assert_array_equal(found.block_ids, [[1, 3, 5], [0, 1, 2]])

  def test_a_corpus_without_words_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none in 2 blocks'):
      bm25.Bm25Retriever(['a', ''], ['the b', '.'])


if __name__ == '__main__':
  absltest.main()
