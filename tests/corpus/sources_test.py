"""Tests for realm_tf.corpus.sources."""

import bz2
import gzip
import os
import sys
import types
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import sources

_JSONL = (
  '{"title": "Zürich", "text": "A city.", "id": 7}\n'
  '\n'
  '{"title": "Bern", "text": "B."}\n'
)
_WIKI = """<doc id="12" url="http://x?curid=12" title="Tom &amp; "Jerry"">
Tom & "Jerry"

First paragraph.
Heading.
</dl>
Second &lt;paragraph&gt;.

</doc>
<doc id="13" url="http://x?curid=13" title="Bern">
A city.
</doc>
"""
_WIKI_ARTICLES = [
  ('Tom & "Jerry"', 'First paragraph.\nHeading.\nSecond <paragraph>.', '12'),
  ('Bern', 'A city.', '13'),
]


class ReadArticlesTest(parameterized.TestCase):
  def _write(self, name, content):
    path = os.path.join(self.create_tempdir(), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
      file.write(content if isinstance(content, bytes) else content.encode())
    return path

  @parameterized.named_parameters(
    ('plain', lambda data: data),
    ('gzip', gzip.compress),
    ('bzip2', bz2.compress),
  )
  def test_recognizes_format_and_compression_by_content(self, compress):
    jsonl = self._write('a', compress(_JSONL.encode()))
    wiki = self._write('b', compress(_WIKI.encode()))
    self.assertEqual(
      list(sources.read_articles([wiki, jsonl])),
      [*_WIKI_ARTICLES, ('Zürich', 'A city.', '7'), ('Bern', 'B.', '3')],
    )

  def test_reads_directories_and_globs_in_order(self):
    second = self._write('AB/wiki_00', '<doc id="2" url="" title="B">\n</doc>')
    folder = os.path.dirname(os.path.dirname(second))
    os.makedirs(os.path.join(folder, 'AA'))
    with open(os.path.join(folder, 'AA', 'wiki_00'), 'w') as file:
      file.write('<doc id="1" url="" title="A">\n</doc>')
    for item in (folder, os.path.join(folder, '*', 'wiki_*')):
      self.assertEqual(
        [a.article_id for a in sources.read_articles([item])], ['1', '2']
      )

  def test_is_lazy(self):
    path = self._write('a', _JSONL + 'broken')
    articles = sources.read_articles([path])
    self.assertEqual(next(articles).title, 'Zürich')

  @parameterized.named_parameters(
    ('broken_json', '{"title": "A", "text": "B"}\n{"title"', ':2 must be'),
    ('not_an_object', '{"title": "A", "text": "B"}\n[1]', ':2 .* a list'),
    ('no_title', '{"text": "B"}', ":1 must have 'title'.*None"),
    ('text_is_no_string', '{"title": "B", "text": 3}', ":1 .*'text'.* 3"),
    ('other_format', '<mediawiki>', "begins with '<mediawiki>'"),
    ('unclosed_article', '<doc id="1" title="A">\nB', ':2 must be </doc>'),
    (
      'outside_of_articles',
      '<doc id="1" title="A">\n</doc>\nB',
      ':3 must begin',
    ),
    ('not_utf8', b'{}'[:1] + b'"title": "\xff"}', 'line 1 is not'),
    ('cut_gzip', gzip.compress(_JSONL.encode() * 99)[:60], 'readable'),
  )
  def test_bad_file_is_a_user_error_with_its_line(self, content, message):
    path = self._write('bad', content)
    with self.assertRaisesRegex(errors.UserError, f'^{path}.*{message}'):
      list(sources.read_articles([path]))

  def test_missing_file_is_a_user_error_at_once(self):
    with self.assertRaisesRegex(errors.UserError, '/no/file-.*'):
      sources.read_articles(['/no/file-*'])

  def test_unknown_format_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, "got 'xml'"):
      sources.read_articles([], 'xml')

  def test_reads_tensorflow_datasets(self):
    wikipedia = [{'title': 'Zürich'.encode(), 'text': b'A city.'}]
    wiki40b = [
      {
        'text': b'\n_START_ARTICLE_\nBern\n_START_SECTION_\nHistory\n'
        b'_START_PARAGRAPH_\nOld._NEWLINE_Very.'
      }
    ]
    fake = types.SimpleNamespace(
      load=lambda name, split: {'w': wikipedia, 'w40': wiki40b}[name],
      as_numpy=iter,
    )
    with mock.patch.dict(sys.modules, tensorflow_datasets=fake):
      self.assertEqual(
        list(sources.read_articles(['tfds:w', 'tfds:w40'])),
        [('Zürich', 'A city.', '0'), ('Bern', 'History\n\nOld.\nVery.', '1')],
      )
      with self.assertRaisesRegex(errors.UserError, 'tfds:other'):
        list(sources.read_articles(['tfds:other']))


class WithoutListsTest(absltest.TestCase):
  def test_drops_pages_that_are_no_articles(self):
    titles = [
      'List of rivers',
      'Lists of Lists',
      'Index of A',
      'Outline of B',
      'Mercury (disambiguation)',
      'Listening',
      'A list of mine',
      'Index',
    ]
    kept = sources.without_lists(
      sources.Article(title, '', '') for title in titles
    )
    self.assertEqual(
      [article.title for article in kept],
      ['Listening', 'A list of mine', 'Index'],
    )


class ReadTextsTest(absltest.TestCase):
  def test_reads_the_text_of_every_line(self):
    path = self.create_tempfile('a.jsonl', _JSONL).full_path
    self.assertEqual(list(sources.read_texts([path])), ['A city.', 'B.'])

  def test_a_line_without_text_is_a_user_error(self):
    path = self.create_tempfile('a.jsonl', '{"text": "a"}\n{"x": 1}\n')
    with self.assertRaisesRegex(errors.UserError, ':2 must have "text"'):
      list(sources.read_texts([path.full_path]))


if __name__ == '__main__':
  absltest.main()
