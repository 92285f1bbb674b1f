"""Tests for realm_tf.data.query_table."""

import random
import types

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.data import query_table
from tests import fakes
from tests import tiny

_TOKENIZER = fakes.tokenizer(
  'he lives in paris now . the rain is never warm there she was born may 1940 '
  ', see ##s'
)
_TEXT = (
  'He lives in Paris now. The rain is never warm there.\n'
  'A heading\nShe was born in May 1940. See Paris.'
)


def _texts(texts=()):
  """Returns a table with one article, found by any id."""
  return types.SimpleNamespace(
    find_article=lambda article_id: np.arange(len(texts)),
    find_title=lambda title: np.zeros(0, np.int64),
    texts=lambda ids: [texts[i] for i in ids],
  )


_NO_TEXTS = _texts()


class QueryBuildingTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.articles = [
      sources.Article('Rain', 'The rain is never warm.', 'a'),
      sources.Article('Paris', _TEXT, 'b'),
    ]

  def _queries(self, tagger, table=_NO_TEXTS, counts=None):
    return list(
      query_table.queries_from_articles(
        self.articles, _TOKENIZER, tagger, table, counts or counts_lib.Counts()
      )
    )

  def _table(self):
    # The title Paris has 1 wordpiece, so bodies have at most 16 - 3 - 1 = 12:
    # the first two sentences, of 6 and 7, do not share a block.
    return tiny.open_corpus(
      self.create_tempdir().full_path, self.articles, 'corpus', _TOKENIZER, 16
    )

  def test_salient_queries_have_spans_in_wordpieces(self):
    queries = self._queries(salient_spans.RulesTagger())
    # Dropped: the rain has no span, the heading no full stop, and 'See Paris.'
    # only 3 wordpieces.
    self.assertEqual(
      [query.text for query in queries],
      ['He lives in Paris now.', 'She was born in May 1940.'],
    )
    first, second = queries
    self.assertEqual(
      [_TOKENIZER.vocabulary[i] for i in first.ids],
      ['he', 'lives', 'in', 'paris', 'now', '.'],
    )
    np.testing.assert_array_equal(first.spans, [[3, 4]])
    # she was born in [may 1940] .
    np.testing.assert_array_equal(second.spans, [[4, 6]])
    self.assertEqual([query.own_block for query in queries], [-1, -1])

  def test_shows_some_spans_and_advises_if_few_sentences_have_one(self):
    counts = counts_lib.Counts()
    self._queries(salient_spans.RulesTagger(), counts=counts)
    self.assertEqual(
      query_table.describe_spans(counts), ' Spans: 2, such as Paris, May 1940.'
    )
    counts = counts_lib.Counts()
    counts.keep('sentences', 34)
    counts.drop('sentence without salient span', 34)
    self.assertEqual(query_table.describe_spans(counts), '')
    counts.drop('sentence without salient span', 1395)
    self.assertRegex(
      query_table.describe_spans(counts),
      'Only 34 of 1,463 .* --tagger=rules.terms',
    )

  def test_without_tagger_all_stay_and_own_blocks_hold_them(self):
    table = self._table()
    queries = self._queries(None, table)
    self.assertLen(queries, 4)
    self.assertEqual(queries[0].spans.shape, (0, 2))
    texts = table.texts([query.own_block for query in queries])
    for query, text in zip(queries, texts):
      self.assertIn(query.text, text)
    self.assertGreater(len({query.own_block for query in queries}), 2)

  def test_own_block_is_in_the_same_article(self):
    table = self._table()
    sentence = 'The rain is never warm.'  # Only in article a.
    for article_id, title, expected in (
      ('a', '', [0]),
      ('b', '', [-1]),
      ('c', '', [-1]),
      ('c', 'Rain', [0]),
      ('b', 'Rain', [0]),
      ('', 'Paris', [-1]),
    ):
      found = query_table.find_own_blocks([sentence], article_id, title, table)
      self.assertEqual(found, expected)

  def test_finds_an_own_block_exactly_if_one_holds_the_sentence(self):
    rng = random.Random(0)
    for _ in range(200):
      texts = [
        ''.join(rng.choices('abc😀\ud800', k=rng.randint(0, 40)))
        for _ in range(3)
      ]
      sentences = [
        ''.join(rng.choices('abc😀', k=rng.randint(1, 12))) for _ in range(6)
      ] + [text[i : i + 12] for text in texts for i in range(0, len(text), 5)]
      rng.shuffle(sentences)
      for sentence, row in zip(
        sentences,
        query_table.find_own_blocks(sentences, 'a', '', _texts(texts)),
        strict=True,
      ):
        if row >= 0:
          self.assertIn(sentence, texts[row])
        else:
          self.assertFalse(any(sentence in text for text in texts))

  def test_keeps_known_spans_and_drops_parts_of_words(self):
    sentences = [
      sources.TaggedSentence('He lives in Paris now.', ((12, 17),)),
      sources.TaggedSentence('He lives in Paris now.', ((13, 17), (0, 8))),
    ]
    first, second = query_table.queries_from_sentences(
      sentences, _TOKENIZER, _NO_TEXTS
    )
    np.testing.assert_array_equal(first.spans, [[3, 4]])
    # Characters 13 to 17 are 'aris': no wordpiece begins there.
    np.testing.assert_array_equal(second.spans, [[0, 2]])
    self.assertEqual(first.own_block, -1)


_ONE = tiny.Corpus('one', [70, 80, 90, *range(100, 110)])


def _query(length, *spans, own_block=interfaces.NULL_BLOCK, text=''):
  return tiny.query(range(1, length + 1), spans, own_block, text)


class QueryTableTest(absltest.TestCase):
  def _write(self, queries, masking='salient', corpus=_ONE):
    directory = tiny.write_queries(
      self.create_tempdir().full_path, queries, masking, corpus
    )
    return query_table.QueryTable.open(directory)

  def test_queries_come_back(self):
    table = self._write(
      [
        _query(3, (0, 2), (2, 3), own_block=7, text='Zürich 1969'),
        _query(2, (1, 2)),
      ]
    )
    self.assertEqual(table.num_queries, 2)
    self.assertEqual(table.manifest['num_queries'], 2)
    self.assertEqual(table.manifest['corpus_fingerprint'], 'one')
    first, second = table.query(0), table.query(1)
    self.assertEqual(first.ids.tolist(), [1, 2, 3])
    self.assertEqual(first.spans.tolist(), [[0, 2], [2, 3]])
    self.assertEqual((first.own_block, first.text), (7, 'Zürich 1969'))
    self.assertEqual(second.spans.tolist(), [[1, 2]])
    self.assertEqual(table.own_blocks.tolist(), [7, -1])

  def test_drops_and_counts_long_spans_and_queries_without_a_span(self):
    # Spans of 11 and 10 wordpieces.
    with_span, without = _query(20, (0, 11), (5, 15)), _query(20, (0, 11))
    table = self._write([with_span, without, _query(4)])
    self.assertEqual(table.num_queries, 1)
    self.assertEqual(table.query(0).spans.tolist(), [[5, 15]])
    self.assertEqual(
      table.manifest['num_dropped'],
      {'spans_too_long': 2, 'queries_without_span': 2},
    )

  def test_random_masking_needs_no_span(self):
    table = self._write([_query(4)], 'random_token')
    self.assertEqual(table.query(0).spans.shape, (0, 2))

  def test_finds_own_blocks_in_a_corpus_with_other_blocks(self):
    owns = (2, interfaces.NULL_BLOCK, 0, 1)
    table = self._write([_query(3, (0, 1), own_block=own) for own in owns])
    table.fit_corpus(_ONE)
    self.assertEqual(table.own_blocks.tolist(), [2, -1, 0, 1])
    with self.assertLogs(level='WARNING') as logs:
      # The second block, with hash 80, is missing; 60 and 10 are new.
      table.fit_corpus(tiny.Corpus('two', [60, 90, 10, 70]))
    self.assertEqual(table.own_blocks.tolist(), [1, -1, 3, -1])
    self.assertIn('this corpus lacks 1 of these', logs.output[0])

  def test_a_corpus_of_other_text_is_a_user_error(self):
    table = self._write([_query(3, (0, 1), own_block=0)])
    for other in (
      tiny.Corpus('two', [60, 90]),
      tiny.Corpus('one', _ONE.hashes, vocabulary_sha256='other'),
    ):
      with self.assertRaisesRegex(errors.UserError, 'must be made with the co'):
        table.fit_corpus(other)

  def test_queries_without_own_blocks_fit_any_corpus(self):
    table = self._write([_query(3, (0, 1))])
    table.fit_corpus(tiny.Corpus('two', []))
    self.assertEqual(table.own_blocks.tolist(), [-1])

  def test_nothing_left_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, "'queries_without_span': 1"):
      self._write([_query(4)])


if __name__ == '__main__':
  absltest.main()
