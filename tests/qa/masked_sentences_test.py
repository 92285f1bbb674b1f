"""Tests for realm_tf.qa.masked_sentences."""

import math
import os
import tempfile
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.data import held_out
from realm_tf.qa import masked_sentences
from tests import fakes
from tests import tiny
from tests.serving import small_models


class MaskedSentenceTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    corpus_dir = tiny.write_corpus(directory)
    path = os.path.join(directory, 'pretrained')
    small_models.write(path, corpus_dir, small_models.PRETRAINED)
    cls.completer = masked_sentences.load(path, corpus_dir)

  def test_probabilities_follow_equation_1(self):
    done = self.completer.complete('a [MASK] d [MASK]')
    self.assertLen(done['candidates'], 3)
    null, *others = done['candidates']
    self.assertIsNone(null['block_id'])
    self.assertEqual(null['utility'], 0.0)
    total = sum(candidate['p_z'] for candidate in done['candidates'])
    self.assertAlmostEqual(total, 1.0, places=5)
    for candidate in others:
      self.assertIn(candidate['title'], 'abc')
      self.assertAlmostEqual(
        candidate['utility'],
        math.log(candidate['p_y']) - math.log(null['p_y']),
        places=5,
      )
    self.assertLen(done['completion'].split(), 2)
    for side in ('with_retrieval', 'without_retrieval'):
      self.assertLen(done[side], 2)
      for words in done[side]:
        shares = [word['probability'] for word in words]
        self.assertEqual(shares, sorted(shares, reverse=True))

  def test_p_of_one_mask_is_the_sum_over_blocks(self):
    done = self.completer.complete('a [MASK] d')
    expected = sum(z['p_z'] * z['p_y'] for z in done['candidates'])
    first = done['with_retrieval'][0][0]
    self.assertAlmostEqual(first['probability'], expected, places=5)
    self.assertEqual(first['word'], done['completion'])
    null = done['candidates'][0]['p_y']
    without = {
      word['word']: word['probability'] for word in done['without_retrieval'][0]
    }
    self.assertAlmostEqual(without[first['word']], null, places=5)

  @parameterized.parameters(
    ('a b', 'Found 0'),
    ('[MASK] ' * 3, 'Found 3'),
    ('a ' * 6 + '[MASK]', 'Found 7'),
  )
  def test_wrong_sentences_are_refused(self, sentence, message):
    with self.assertRaisesRegex(errors.RequestError, message):
      self.completer.complete(sentence)


class SpanRecallTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self._dir = self.create_tempdir().full_path
    self._table = tiny.open_corpus(self._dir)
    queries = [
      ('a b d d .', 0),  # Of 2 and 1, the second has 'a'.
      ('f a .', 1),  # Neither 0 nor 2 has 'f'.
      ('b d d .', 2),  # Of 0 and 1, the first has 'b'.
    ]
    found = [
      tiny.query(tiny.TOKENIZER.tokenize(text).ids, [[0, 1]], own, text)
      for text, own in queries
    ]
    self._queries_dir = tiny.write_queries(self._dir, found, corpus=self._table)

  def _measure(self, share):
    # Blocks 0, 2 and 1 are the hits of every query; only block 1 has 'f'.
    self.retriever = mock.Mock(wraps=fakes.FakeRetriever([0, 2, 1], [0.0] * 3))
    return masked_sentences.span_recall(
      self._queries_dir,
      self._table,
      tiny.TOKENIZER,
      retriever=self.retriever,
      config=tiny.config(),
      share=share,
      recall_at=[1, 2],
    )

  def test_recall_leaves_out_the_own_block(self):
    metrics = self._measure(0.0)
    self.assertEqual(metrics['num_sentences'], 3)
    self.assertAlmostEqual(metrics['span_recall@1'], 100 / 3)
    self.assertAlmostEqual(metrics['span_recall@2'], 200 / 3)
    self.assertEqual(metrics['span_ranks'], [2, 0, 1])
    low, high = metrics['span_intervals']['span_recall@2']
    self.assertLess(low, 200 / 3)
    self.assertGreater(high, 200 / 3)

  @mock.patch.object(masked_sentences, '_BATCH', 2)
  def test_a_batch_has_similar_lengths_and_results_stay_in_order(self):
    self.assertEqual(self._measure(0.0)['span_ranks'], [2, 0, 1])
    asked = [call.args[0] for call in self.retriever.retrieve.mock_calls]
    lengths = [(queries.ids > 0).sum(axis=1).tolist() for queries in asked]
    self.assertEqual(lengths, [[3, 4], [5]])

  def test_only_sentences_of_held_out_articles_count(self):
    names = [article.title for article in tiny.ARTICLES]
    metrics = self._measure(held_out.share_of(names))
    self.assertEqual(metrics['num_sentences'], 1)
    with self.assertRaisesRegex(errors.UserError, 'Raise --held_out_share'):
      self._measure(1e-9)


if __name__ == '__main__':
  absltest.main()
