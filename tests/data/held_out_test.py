"""Tests for realm_tf.data.held_out, and that batches leave its rows out."""

import itertools

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.data import held_out
from realm_tf.training import inverse_cloze_run
from realm_tf.training import pretraining_batches
from tests import fakes
from tests import tiny

# The hashes of the titles 'a', 'b' and 'c', as shares, are .79, .24 and .18, so
# 'b' and 'c' are held out. 'c' has two blocks.
_SHARE = 0.5
_HELD_OUT = [False, True, True, True]
_CONFIG = tiny.config(held_out={'share': _SHARE})


class HeldOutTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    directory = self.create_tempdir().full_path
    self.table = tiny.open_corpus(directory)
    self.queries = tiny.open_queries(
      directory,
      [
        ('a b .', [[0, 1]], 0),
        ('e f .', [[0, 1]], 1),
        ('b d .', [[0, 1]], 2),
        ('e a .', [[0, 1]], 3),
        ('first', [[0, 1]], -1),
      ],
    )

  def test_the_split_is_by_article_and_stable(self):
    found = held_out.blocks(self.table, _SHARE).tolist()
    names = self.table.titles(range(4))
    self.assertEqual(found, [held_out.is_held_out(n, _SHARE) for n in names])
    self.assertEqual(found, _HELD_OUT)
    self.assertFalse(held_out.blocks(self.table, 0.0).any())

  def test_a_tenth_of_the_names_gives_the_share_that_holds_it_out(self):
    for number, expected in (
      (200, 20),
      (20, 3),  # At least three,
      (6, 2),  # but at most a third.
      (2, 0),
    ):
      names = [f'article {i}' for i in range(number)]
      share = held_out.share_of(names)
      found = sum(held_out.is_held_out(name, share) for name in names)
      self.assertEqual(found, expected)

  def test_queries_follow_their_own_block_or_their_text(self):
    found = held_out.queries(self.queries, self.table, _SHARE).tolist()
    self.assertEqual(found[:4], _HELD_OUT)
    self.assertEqual(found[4], held_out.is_held_out('first', _SHARE))

  def test_no_job_trains_on_held_out_sentences(self):
    steps = 8
    batches = pretraining_batches.Batches(
      self.queries,
      self.table,
      fakes.FoundBy(lambda ids, k: np.tile(np.arange(k) % 4, [len(ids), 1])),
      tokenizer=tiny.TOKENIZER,
      experiment=_CONFIG,
    )
    golds = {
      int(gold)
      for batch in itertools.islice(batches, steps)
      for gold in batch['gold_ids'][:, 0]
    }
    is_held_out = held_out.queries(self.queries, self.table, _SHARE)
    kept = np.flatnonzero(~is_held_out)
    self.assertEqual(golds, {int(self.queries.query(i).ids[0]) for i in kept})
    batches = inverse_cloze_run.sentence_batches(
      self.table, np.arange(5, 12, dtype=np.int32), _CONFIG
    )
    seen = {
      tuple(title)
      for batch in itertools.islice(batches, steps)
      for title in batch['title_ids'].tolist()
    }
    rows = np.flatnonzero(~held_out.blocks(self.table, _SHARE))
    titles, _ = self.table.gather(rows, 2, 12)
    self.assertEqual(seen, {tuple(title) for title in titles.tolist()})

  def test_no_sentence_is_measured_with_number_0(self):
    chosen = [held_out.choose(np.ones(4, bool), number, 0) for number in (0, 3)]
    self.assertEqual([len(rows) for rows in chosen], [0, 3])

  def test_something_must_be_left(self):
    with self.assertRaisesRegex(errors.UserError, 'Lower held_out.share'):
      held_out.others(np.ones(3, bool))


if __name__ == '__main__':
  absltest.main()
