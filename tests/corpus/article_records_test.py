"""Tests for realm_tf.corpus.article_records, through the reader of files."""

import lzma
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import article_records
from realm_tf.corpus import sources
from tests import input_case


class ArticleRecordsTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('tevatron', '{"docid": "a", "title": "T", "text": "B."}'),
    ('pyserini', '{"id": "a", "contents": "B.", "title": "T"}'),
    ('array', '[{"_id": "a",\n"title": "T",\n"text": "B."}]'),
    ('mark', '\ufeff{"id": "a", "title": "T", "text": "B."}'),
    ('kilt', '{"_id": "a", "wikipedia_title": "T", "text": ["T\\n", "B."]}'),
    ('wikiextractor', '{"id": "a", "title": "T", "text": "T\\n\\nB."}'),
    ('null', '{"id": "a", "docid": null, "title": "T", "text": "B."}'),
    ('capitals', '{"ID": "a", "Title": "T", "Text": "B."}'),
  )
  def test_articles_of_the_field_are_read(self, content):
    data = content.encode()
    for path in map(self.file, (data, lzma.compress(data))):
      expected = sources.Article('T', 'B.', 'a')
      self.assertEqual(self.articles(path), [expected])

  def test_a_key_that_is_named_must_be_there(self):
    path = self.file('{"a": 1, "text": "B."}')
    articles = self.articles(path, keys=article_records.Keys('a'))
    self.assertEqual(articles, [sources.Article('', 'B.', '1')])
    for keys in (article_records.Keys('b'), article_records.Keys(text='b')):
      self.assert_refused(path, ":1 must have 'b'. Found", keys=keys)

  def test_a_pipe_is_refused_and_not_waited_for(self):
    path = os.path.join(self.create_tempdir().full_path, 'pipe')
    os.mkfifo(path)
    self.assert_refused(path, ' must be a file. Found a FIFO')


if __name__ == '__main__':
  absltest.main()
