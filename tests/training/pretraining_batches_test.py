"""Tests for realm_tf.training.pretraining_batches."""

import itertools

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf.data import sampling
from realm_tf.training import pretraining_batches
from tests import fakes
from tests import tiny

_QUERIES = (
  ('a b . c d .', (0, 1), 0),
  ('e f . a c .', (3, 5), 1),
  ('b d . c e .', (1, 2), 2),
  ('d f . e a .', (0, 2), 3),
  ('f f f f f f', (2, 3), -1),
)
_ORDINARY_IDS = np.arange(5, 12, dtype=np.int32)


def _config(**changes):
  return tiny.config(pretraining=changes)


def _text_of(ids):
  return tiny.TOKENIZER.detokenize(ids[ids > 0])


class _FoundAtOnce(fakes.FoundBy):
  """Finds where a search begins, as an index is swapped."""

  def begin(self, queries, k):
    found = self.retrieve(queries, k)
    return lambda: found


class PretrainingBatchesTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    self.queries = tiny.open_queries(
      directory, [(text, [span], own) for text, span, own in _QUERIES]
    )
    self.searched = []
    self.index_step = -1

  def _search(self, query_ids, k):
    self.searched.append(query_ids)
    self.index_step = 500 * (len(self.searched) > 2)  # A swap in batch 3.
    return np.tile(np.arange(k) % self.table.num_blocks, [len(query_ids), 1])

  def _take(self, number, config, first_step=0):
    batches = pretraining_batches.Batches(
      self.queries,
      self.table,
      _FoundAtOnce(self._search),
      tokenizer=tiny.TOKENIZER,
      experiment=config,
      share=sampling.Share(first_step=first_step),
      index_step=lambda: self.index_step,
    )
    return list(itertools.islice(batches, number))

  def _words(self, block):
    (text,) = self.table.texts([block])
    return _text_of(tiny.TOKENIZER.tokenize(text).ids)

  def test_the_own_block_is_never_a_candidate(self):
    for batch in self._take(5, _config(batch_size=2, num_candidates=4)):
      for i, ids in enumerate(batch['candidate_ids']):
        _, own = self._span_and_own(batch['query_ids'][i])
        # The null block, then the best hits without the own block.
        expected = [b for b in range(self.table.num_blocks) if b != own][:3]
        self.assertEqual(ids.tolist(), [-1, *expected])

  def test_masks_the_span_for_reader_and_search(self):
    (batch,) = self._take(1, _config(batch_size=5))
    np.testing.assert_array_equal(self.searched[0], batch['query_ids'])
    for ids, gold in zip(batch['query_ids'], batch['gold_ids']):
      self.assertEqual(_text_of(gold), self._span_and_own(ids)[0])

  def test_gathers_the_candidates_wordpieces(self):
    (batch,) = self._take(1, _config(batch_size=5))
    null, first = batch['body_ids'][0, :2]
    self.assertFalse(null.any())
    self.assertTrue(batch['is_real'].all())
    block = int(batch['candidate_ids'][0, 1])
    self.assertEqual(_text_of(first), self._words(block))

  def test_recurring_spans_come_first_and_never_from_the_own_block(self):
    config = _config(
      batch_size=5, num_candidates=2, candidates='recurring_span'
    )
    (batch,) = self._take(1, config)
    self.assertLen(self.searched, 1)
    for i, ids in enumerate(batch['candidate_ids']):
      span, own = self._span_and_own(batch['query_ids'][i])
      others = [b for b in range(self.table.num_blocks) if b != own]
      having = [b for b in others if span in self._words(b)]
      lacking = [b for b in others if b not in having]
      self.assertEqual(ids.tolist(), [*having, *lacking][:2])

  @parameterized.parameters(
    dict(num_candidates=1, candidates='recurring_span'),  # Any other block.
    dict(num_candidates=2),  # Block 0, or block 1 for a query of block 0.
  )
  def test_oversampling_prefers_queries_whose_candidates_have_the_span(
    self, **changes
  ):
    is_good = self._recurs if 'candidates' in changes else self._helped
    batches = self._take(10, _config(batch_size=2, oversampling=3, **changes))
    good = []
    for seen, batch in zip(self.searched, batches, strict=True):
      good.append([is_good(ids) for ids in seen])
      used = [is_good(ids) for ids in batch['query_ids']]
      self.assertEqual((len(seen), len(used)), (6, 2))
      self.assertEqual(sum(used), min(2, sum(good[-1])))
    # The first two queries would have been a different choice.
    self.assertTrue(any(not all(row[:2]) and sum(row) >= 2 for row in good))

  def test_each_batch_has_the_age_of_its_index(self):
    batches = self._take(3, _config(), first_step=499)
    ages = [batch['index_age_steps'] for batch in batches]
    # Steps 499, 500 and 501 with indexes 0, 0 and 500.
    self.assertEqual(ages, [499, 500, 1])

  def _helped(self, query_ids):
    span, own = self._span_and_own(query_ids)
    return span in self._words(1 if own == 0 else 0)

  def _recurs(self, query_ids):
    """Whether another block than the own one has the masked span."""
    span, own = self._span_and_own(query_ids)
    others = set(range(self.table.num_blocks)) - {own}
    return any(span in self._words(block) for block in others)

  def _span_and_own(self, query_ids):
    """Finds a masked query in _QUERIES."""
    for text, (start, end), own in _QUERIES:
      words = text.split()
      span = ' '.join(words[start:end])
      words[start:end] = ['[MASK]'] * (end - start)
      if _text_of(query_ids) == ' '.join(words):
        return span, own
    raise AssertionError(query_ids)


def _cloze_config(share=0.0, **changes):
  return tiny.config(inverse_cloze=changes, held_out={'share': share})


class SentencesTest(tf.test.TestCase):
  def setUp(self):
    super().setUp()
    self.table = tiny.open_corpus(self.create_tempdir().full_path)

  def _take(self, ids, config):
    ids = np.array([[-1, *row] for row in ids], np.int32)
    sentences = pretraining_batches.Sentences(
      self.table,
      _ORDINARY_IDS,
      experiment=tiny.changed(config, pretraining={'batch_size': len(ids)}),
    )
    return sentences.add(0, {'candidate_ids': ids})['cloze_ids']

  def test_takes_a_whole_sentence_of_each_block(self):
    taken = self._take([[0, 1], [2, -1]], _cloze_config(remove_rate=1.0))
    self.assertFalse(taken[1, 1].any())  # Padding.
    for row, block in ((taken[0, 0], 0), (taken[0, 1], 1), (taken[1, 0], 2)):
      self.assertLen(_text_of(row).split(), 3)  # Two words and a full stop.
      _, body = self.table.gather([block], 1, 10)
      self.assertIn(_text_of(row), _text_of(body[0]))

  def test_drops_the_words_that_the_warm_start_drops(self):
    taken = self._take([[0, 1, 2]], _cloze_config(query_drop_rate=1.0))
    self.assertAllEqual((taken > 0).sum(axis=-1), [[1, 1, 1]])

  def test_held_out_articles_give_no_sentence(self):
    self.assertFalse(
      self._take([[0, 1, 2]], _cloze_config(share=1 - 1e-9)).any()
    )


if __name__ == '__main__':
  absltest.main()
