"""Tests for realm_tf.serving.edited_corpus."""

import tempfile
import tracemalloc
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import interfaces
from realm_tf.index import exact_search
from realm_tf.qa import loading
from realm_tf.retrieval import retrievers
from realm_tf.serving import changes
from realm_tf.serving import edited_corpus
from tests import tiny
from tests.serving import small_models

_QUESTIONS = ['a b ?', 'e f', 'c c d']


def _texts(edits):
  return {i: block.text for i, block in edits.table.changed.items()}


class CorpusEditsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.loaded = loading.load(*small_models.write_all(directory))

  def setUp(self):
    super().setUp()
    self.edits = self._open()

  def _open(self):
    return edited_corpus.EditedCorpus(self.loaded, mock.Mock())

  def _answers(self, opened):
    answerer = loading.answerer_of(opened, loading.Choices(num_read=4))
    return answerer.answer(_QUESTIONS)

  def _assert_same(self, ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
      self.assertEqual(one.prediction, other.prediction)
      self.assertAlmostEqual(one.score, other.score, places=4)
      for mine, its in zip(one.evidence, other.evidence, strict=True):
        self.assertEqual(mine[:6], its[:6])
        self.assertAlmostEqual(mine.score, its.score, places=4)
        self.assertAlmostEqual(
          mine.retrieval_probability, its.retrieval_probability, places=5
        )

  def test_finds_the_blocks_of_articles_and_documents(self):
    document = changes.Document('new', 'n', 'A b. C d. E f.')
    change = {'new': document, 'second': None}
    self.edits.apply(self.edits.prepare(change))
    for block_id, ids in ((0, [0]), (1, []), (3, [2, 3]), (5, [4, 5]), (6, [])):
      self.assertEqual(self.edits.article_blocks(block_id).tolist(), ids)

  def test_search_and_reader_use_the_new_text(self):
    self.edits.change(1, 'F f. D d d d.')
    for answer in self._answers(self.edits.opened):
      for item in answer.evidence:  # All four blocks are read.
        is_edited = item.text == 'F f. D d d d.'
        self.assertEqual(item.block_id == 1, is_edited)
        self.assertEqual(item.text[item.start : item.end], item.answer)
    # The score of the changed block comes from its new embedding.
    ids = tiny.TOKENIZER.token_ids_batch(['F f. D d d d.'])[0]
    lengths = self.loaded.config.lengths
    titles, bodies = self.edits.table.gather(
      np.array([[0, 1]]), lengths.title_tokens, 12
    )
    np.testing.assert_array_equal(bodies[0, 1, : len(ids)], ids)
    self.assertEqual(titles.shape, (1, 2, 2))
    retrieved = retrievers.over_index(self.edits.opened)(
      np.array([[5, 6, 7]]), 4
    )
    self.assertCountEqual(retrieved.block_ids[0], range(4))
    own = retrievers.over_index(self.loaded)(np.array([[5, 6, 7]]), 4)
    scores = dict(zip(retrieved.block_ids[0], retrieved.scores[0]))
    for block_id, score in zip(own.block_ids[0], own.scores[0]):
      if block_id == 1:
        self.assertNotAlmostEqual(scores[block_id], score, places=6)
      else:
        self.assertAlmostEqual(scores[block_id], score, places=6)

  def test_restored_blocks_give_the_first_answers_again(self):
    self.edits.change(1, 'F f.')
    self.edits.change(2, 'A.')
    self.edits.change(1, None)
    self.assertEqual(_texts(self.edits), {2: 'A.'})
    self.edits.change(2, None)
    self._assert_same(
      self._answers(self.edits.opened), self._answers(self.loaded)
    )


class LiveSearchTest(absltest.TestCase):
  def test_agrees_with_exact_search_after_random_changes(self):
    rng = np.random.default_rng(0)
    base = rng.normal(size=[40, 4]).astype(np.float32)
    queries = rng.normal(size=[3, 4]).astype(np.float32)
    index = exact_search.BruteForceSearcher(base)
    is_hidden = np.zeros([40], bool)
    search = edited_corpus.LiveSearch(index, is_hidden)
    now = dict(enumerate(base))
    for _ in range(300):
      ids = rng.integers(60, size=1)
      search.remove(ids)
      is_hidden[ids[ids < 40]] = True
      now.pop(int(ids[0]), None)
      if rng.random() < 0.4:
        now[int(ids[0])] = rng.normal(size=4).astype(np.float32)
        search.put(ids, now[int(ids[0])][None])
      found = search.search(queries, 5)
      ids = np.array(sorted(now))
      scores = queries @ np.array([now[i] for i in ids]).T
      best = np.argsort(-scores, axis=1)[:, :5]
      np.testing.assert_array_equal(found.block_ids, ids[best])

  def test_all_removed(self):
    base = np.eye(3, dtype=np.float32)
    index = exact_search.BruteForceSearcher(base)
    is_hidden = np.ones([3], bool)
    search = edited_corpus.LiveSearch(index, is_hidden)
    found = search.search(base, 2)
    np.testing.assert_array_equal(found.block_ids, np.full([3, 2], -1))
    is_hidden[1] = False
    found = search.search(base, 2)
    np.testing.assert_array_equal(found.block_ids, [[1, -1]] * 3)

  def test_a_change_copies_no_array_of_the_length_of_the_corpus(self):
    ones = np.ones([2, 4], np.float32)
    index = mock.Mock()
    index.search.return_value = interfaces.Neighbors(
      np.array([[7, 8]]), ones[:1, :2]
    )
    is_hidden = np.zeros([10**6], bool)
    is_hidden[7] = True
    search = edited_corpus.LiveSearch(index, is_hidden)
    tracemalloc.start()
    self.addCleanup(tracemalloc.stop)
    search.put(np.array([7, 10**6 + 1]), ones)
    search.remove(np.array([5, 10**6 + 1]))
    found = search.search(ones[:1], 2)
    self.assertEqual(found.block_ids.tolist(), [[7, 8]])  # Scores 4 and 1.
    _, peak = tracemalloc.get_traced_memory()
    self.assertLess(peak, 10**5)  # One byte for each block is 10**6.


if __name__ == '__main__':
  absltest.main()
