"""Tests for realm_tf.serving.explorer and its routes."""

import dataclasses
import functools
import os
import tempfile

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import loading
from realm_tf.retrieval import word_search
from realm_tf.serving import changes
from realm_tf.serving import explorer as explorer_lib
from realm_tf.serving import served_model
from tests import tiny
from tests.serving import small_models

_ARTICLES = (
  sources.Article('Salimón', 'A b. C d.', 'first'),
  sources.Article('Limón', 'E f. A c.', 'second'),
  sources.Article('Oran', 'B d. C e. D f. E a.', 'third'),
  sources.Article('Limone', 'Oran b. C d.', 'fourth'),
)


class SentenceTest(parameterized.TestCase):
  @parameterized.parameters(
    (9, 11, 'Two is here.'),  # 'is'.
    (12, 23, 'Two is here. Three.'),  # Over the end of a sentence.
    (0, 0, 'One.'),  # No span.
    (0, 0, '', ''),  # A text without a sentence is whole.
  )
  def test_shows_the_sentences_of_the_span(
    self, start, end, sentence, text='One. Two is here. Three.'
  ):
    item = answer_lib.Evidence(7, '', text, start, end, '', 0.5, 2.0, '')
    first, last = explorer_lib.sentence_of(item)
    self.assertEqual(text[first:last], sentence)
    self.assertBetween(first, 0, last)
    self.assertLessEqual(last, len(text))


class ExplorerTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.corpus_dir = tiny.write_corpus(directory, _ARTICLES)
    cls.model_dir = os.path.join(directory, 'qa')
    small_models.write(cls.model_dir, cls.corpus_dir)
    cls.model = cls._load()
    cls.explorer = cls.model.explorer

  @classmethod
  def _load(cls, is_live=False, **choices):
    return served_model.load(
      cls.model_dir,
      cls.corpus_dir,
      choices=loading.Choices(**choices),
      is_live=is_live,
    )

  def _titles(self, text):
    found = self.explorer.find(text)['articles']
    return [(each['title'], each['block_id']) for each in found]

  def test_finds_titles_by_a_part_without_accents_or_capitals(self):
    # The beginning counts more than length.
    expected = [('Limón', 1), ('Limone', 4), ('Salimón', 0)]
    self.assertEqual(self._titles(' LIMON'), expected)
    self.assertEqual(self._titles('ran'), [('Oran', 2)])
    self.assertEmpty(self._titles('Lima'))

  def test_finds_blocks_by_words_of_text_and_title(self):
    found = self.explorer.find('about oran')['blocks']
    self.assertCountEqual([each['block_id'] for each in found], [2, 3, 4])
    self.assertEmpty(self.explorer.find('nothing')['blocks'])

  def test_shows_the_article_of_a_block(self):
    article = self.explorer.article(3)
    self.assertEqual((article['title'], article['num_blocks']), ('Oran', 2))
    texts = {2: 'B d. C e.', 3: 'D f. E a.'}.items()
    blocks = [{'block_id': i, 'text': text} for i, text in texts]
    self.assertEqual(article['blocks'], blocks)
    for block_id in (-1, 5, 10**30):
      with self.assertRaisesRegex(errors.RequestError, 'no block') as caught:
        self.explorer.article(block_id)
      self.assertEqual(caught.exception.status, 404)

  @parameterized.parameters(
    ({}, 'embeddings', 1.0),
    ({'sparse_weight': 0.5}, 'both', 0.5),
    ({'retriever': 'bm25'}, 'words', 1.0),
  )
  def test_compares_the_searches_and_names_its_own(self, choices, own, weight):
    model = self._load(**choices)
    self.assertEqual(model.explorer.sparse_weight, weight)
    searches = model.explorer.compare('oran b ?')['searches']
    self.assertEqual([s['search'] for s in searches if s['is_own']], [own])
    found = {each['search']: each for each in searches}
    self.assertCountEqual(found, ['words', 'embeddings', 'both'])
    # All models have the same embeddings.
    answerers = {
      'embeddings': self.model.answerer,
      'both': self._load(sparse_weight=weight).answerer,
      own: model.answerer,
    }
    for name, answerer in answerers.items():
      (answer,) = answerer.answer(['oran b ?'])
      self.assertEqual(found[name]['answer'], answer.prediction)
      self.assertEqual(
        [item['block_id'] for item in found[name]['evidence']],
        [item.block_id for item in answer.evidence],
      )

  def test_a_changing_corpus_has_its_texts_titles_and_words(self):
    model = self._load(is_live=True)
    edits, live = model.edits, model.explorer
    edits.change(2, 'F f f.')
    blocks = live.article(3)['blocks']
    self.assertEqual([b['text'] for b in blocks], ['F f f.', 'D f. E a.'])
    self.assertEqual(live.article(1)['title'], 'Limón')
    added = changes.Document('new', 'Lim', 'E f.')
    edits.apply(edits.prepare({'new': added, 'second': None}))
    found = live.find('lim')
    titles = [each['title'] for each in found['articles']]
    self.assertEqual(titles, ['Lim', 'Limone', 'Salimón'])
    self.assertEqual([b['text'] for b in found['blocks']], ['E f.'])
    edits.change(4, 'Zebra.')
    self.assertLen(live.find('zebra')['blocks'], 1)
    edits.change(4, None)
    self.assertEmpty(live.find('zebra')['blocks'])

  def test_a_large_corpus_has_no_search_of_words(self):
    large = dataclasses.replace(self.explorer, most_blocks=4)
    self.assertFalse(large.can_search)
    with self.assertRaisesRegex(errors.RequestError, 'searches no words'):
      large.find('oran')
    # With BM25 in the server's own search, it is there.
    self.assertTrue(dataclasses.replace(large, own='both').can_search)

  def test_a_corpus_without_words_says_so(self):
    table = tiny.open_corpus(self.create_tempdir().full_path)
    explorer = dataclasses.replace(
      self.explorer,
      build_words=functools.partial(word_search.over_table, table),
    )
    with self.assertRaisesRegex(errors.RequestError, 'words of two letters'):
      explorer.find('oran')


if __name__ == '__main__':
  absltest.main()
