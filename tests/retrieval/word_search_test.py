"""Tests for realm_tf.retrieval.word_search."""

import math

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import word_search


def _find(retriever, questions, k):
  return retriever.retrieve(retriever_lib.of_texts(questions), k)


class Bm25RetrieverTest(absltest.TestCase):
  def test_score_matches_hand_computation(self):
    # Lucene's BM25, k1 = 0.9, b = 0.4. 3 blocks of 2, 2 and 5 words: mean 3.
    # "river" is in 1 of 3 blocks: idf = ln(1 + (3 - 1 + .5) / (1 + .5)).
    # Block 2 has it twice in 5 words:
    #   tf = 2 / (2 + 0.9 * (0.6 + 0.4 * 5 / 3)) = 2 / 3.14.
    retriever = word_search.Bm25Retriever(
      ['Paris', 'Rome', 'Lyon'], ['city', 'city', 'river city river town']
    )
    found = _find(retriever, ['river'], 1)
    expected = math.log(1 + 2.5 / 1.5) * 2 / 3.14
    np.testing.assert_array_equal(found.block_ids, [[2]])
    np.testing.assert_allclose(found.scores, [[expected]], rtol=1e-5)

  def test_titles_and_inflected_words_are_found(self):
    retriever = word_search.Bm25Retriever(
      ['Danube', 'Rhine', 'Elbe'], ['a river', 'it floods', 'a stream']
    )
    found = _find(retriever, ['Which one was flooding?', 'danube'], 1)
    np.testing.assert_array_equal(found.block_ids, [[1], [0]])

  def test_the_batch_does_not_change_the_order(self):
    texts = ['red', 'red green', 'red green blue']
    retriever = word_search.Bm25Retriever([''] * 3, texts)
    questions = ['green blue', 'red']
    together = _find(retriever, questions, 2)
    np.testing.assert_array_equal(together.block_ids[0], [2, 1])
    for row, question in enumerate(questions):
      alone = _find(retriever, [question], 2)
      np.testing.assert_array_equal(alone.block_ids[0], together.block_ids[row])

  def test_equal_scores_are_in_the_order_of_blocks(self):
    retriever = word_search.Bm25Retriever([''] * 200, ['red', 'green'] * 100)
    found = _find(retriever, ['green', 'x'], 3)
    np.testing.assert_array_equal(found.block_ids, [[1, 3, 5], [0, 1, 2]])

  def test_a_corpus_without_words_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'none in 2 blocks'):
      word_search.Bm25Retriever(['a', ''], ['the b', '.'])


class LiveBm25Test(parameterized.TestCase):
  # Only the mean length is the old corpus's: scores change by no more than it.
  @parameterized.parameters([[4]], [[2, 4, 6, 8]])
  def test_equals_a_new_bm25_of_the_changed_corpus(self, lengths):
    rng = np.random.default_rng(0)
    known = [f'{letter}word' for letter in 'abcdefghij']
    write = lambda *first: ' '.join(
      [*first, *rng.choice(known, rng.choice(lengths) - 1)]
    )
    texts = [write('old') for _ in range(60)]
    old = word_search.Bm25Retriever([''] * 60, texts)
    is_hidden, now = np.zeros([60], bool), dict(enumerate(texts))
    live = word_search.LiveBm25(lambda: old, is_hidden)
    for _ in range(80):
      ids = rng.choice(90, 3, replace=False)
      live.remove(ids)
      is_hidden[ids[ids < 60]] = True
      now = {i: text for i, text in now.items() if i not in ids}
      if rng.random() < 0.7:
        new = [write('new') for _ in ids]
        live.put(ids, live.words(ids, [''] * 3, new))
        now |= zip(ids.tolist(), new)
    live.remove(np.array([5]))
    is_hidden[5] = False
    now[5] = texts[5]
    ids = np.array(sorted(now))
    again = word_search.Bm25Retriever([''] * len(ids), [now[i] for i in ids])
    change = old.mean_length / again.mean_length
    tolerance = max(change, 1 / change) - 1 + 1e-5
    for question in ('old', 'new aword', 'bword cword bword', 'unknown'):
      (found,), (scores,) = _find(live, [question], len(ids) + 5)
      self.assertCountEqual(found, [*ids, *[-1] * 5])
      (theirs,), (expected,) = _find(again, [question], len(ids))
      ours = dict(zip(found.tolist(), scores))
      ours = [ours[i] for i in ids[theirs]]
      np.testing.assert_allclose(ours, expected, rtol=tolerance)
      if change == 1:
        self.assertTrue((np.diff(ours) < 1e-4).all())  # In the same order.


_FOUR = word_search.TfidfRetriever(
  ['Paris', 'Rome', 'Lyon', 'Oslo'],
  ['city', 'city', 'river town river', 'town river'],
)


class TfidfRetrieverTest(absltest.TestCase):
  def test_score_matches_hand_computation(self):
    # Only Lyon has "lyon" and "river town": n = 1 of 4, idf = ln(3.5 / 1.5).
    # "river" is in 2 of 4 blocks: ln(2.5 / 2.5) = 0, at any frequency.
    found = _find(_FOUR, ['Lyon river town?'], 4)
    idf = math.log(3.5 / 1.5)
    # "lyon", "river town" and "lyon river", each once in question and block.
    expected = 3 * (math.log(2) * idf) ** 2
    np.testing.assert_array_equal(found.block_ids, [[2, -1, -1, -1]])
    np.testing.assert_allclose(found.scores[0, 0], expected, rtol=1e-5)
    self.assertTrue(np.isneginf(found.scores[0, 1:]).all())

  def test_the_order_of_words_counts(self):
    found = _find(_FOUR, ['town river', 'river town'], 1)
    np.testing.assert_array_equal(found.block_ids[1], [2])
    # Both Lyon and Oslo have "town river": its idf is 0.
    np.testing.assert_array_equal(found.block_ids[0], [-1])

  def test_a_batch_gives_the_scores_of_single_questions(self):
    texts = [f'word{i} word{i % 7} word{i % 5}' for i in range(40)]
    retriever = word_search.TfidfRetriever([''] * 40, texts)
    together = _find(retriever, texts * 2, 3)
    for row, text in enumerate(texts):
      alone = _find(retriever, [text], 3)
      np.testing.assert_array_equal(alone.scores[0], together.scores[row])


if __name__ == '__main__':
  absltest.main()
