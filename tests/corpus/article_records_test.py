"""Tests for realm_tf.corpus.article_records, through the reader of files."""

import lzma
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import sources


class ArticleRecordsTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('tevatron', '{"docid": "a", "title": "T", "text": "B."}'),
    ('pyserini', '{"id": "a", "contents": "B.", "title": "T"}'),
    ('array', '[{"_id": "a",\n"title": "T",\n"text": "B."}]'),
    ('mark', '\ufeff{"id": "a", "title": "T", "text": "B."}'),
    ('kilt', '{"_id": "a", "wikipedia_title": "T", "text": ["T\\n", "B."]}'),
    (
      'wikiextractor',
      '{"id": "a", "revid": "1", "title": "T", "text": "T\\n\\nB."}',
    ),
    ('null', '{"id": "a", "docid": null, "title": "T", "text": "B."}'),
    ('capitals', '{"ID": "a", "Title": "T", "Text": "B."}'),
  )
  def test_articles_of_the_field_are_read(self, content):
    path = self.create_tempfile(content=content).full_path
    expected = sources.Article('T', 'B.', 'a')
    self.assertEqual(list(sources.read_articles([path])), [expected])
    packed = self.create_tempfile(content=lzma.compress(content.encode()))
    articles = list(sources.read_articles([packed.full_path]))
    self.assertEqual(articles, [expected])

  def test_a_key_that_is_named_must_be_there(self):
    path = self.create_tempfile(content='{"a": 1, "text": "B."}').full_path
    keys = article_records.Keys(article_id='a')
    articles = sources.read_articles([path], keys=keys)
    self.assertEqual(list(articles), [sources.Article('', 'B.', '1')])
    for keys in (article_records.Keys('b'), article_records.Keys(text='b')):
      with self.assertRaisesRegex(errors.UserError, ":1 must have 'b'; it has"):
        list(sources.read_articles([path], keys=keys))

  def test_a_pipe_is_refused_and_not_waited_for(self):
    path = os.path.join(self.create_tempdir().full_path, 'pipe')
    os.mkfifo(path)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be a file;'):
      list(sources.read_articles([path]))


if __name__ == '__main__':
  absltest.main()
