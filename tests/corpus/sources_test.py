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
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from tests import wiki_dump

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
  sources.Article(
    'Tom & "Jerry"', 'First paragraph.\nHeading.\nSecond <paragraph>.', '12'
  ),
  sources.Article('Bern', 'A city.', '13'),
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
      [
        *_WIKI_ARTICLES,
        sources.Article('Zürich', 'A city.', '7'),
        sources.Article('Bern', 'B.', '3'),
      ],
    )

  def test_reads_directories_and_globs_in_order(self):
    second = self._write(
      'AB/wiki_00', '<doc id="2" url="" title="B">\nC\n</doc>'
    )
    folder = os.path.dirname(os.path.dirname(second))
    os.makedirs(os.path.join(folder, 'AA'))
    with open(os.path.join(folder, 'AA', 'wiki_00'), 'w') as file:
      file.write('<doc id="1" url="" title="A">\nC\n</doc>')
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
    ('no_text', '{"title": "B"}', ":1 must have one of 'text'.*it has 'title'"),
    ('title_is_no_string', '{"title": 7, "text": "B"}', ":1 .*'title'.* 7"),
    ('id_is_a_number', '{"id": 7.0, "text": "B"}', ':1 .* as id; it has 7.0'),
    ('id_is_a_switch', '{"id": true, "text": "B"}', ':1 .* as id; it has True'),
    (
      'id_is_long',
      '{"id": ' + '9' * 5000 + '}',
      ':1 must be JSON.*5000 digits',
    ),
    ('deep', '{"a": ' + '[' * 100_000, ':1 must be JSON.*nested too deeply'),
    ('half', r'{"text": "\ud83d"}', ':1 must be JSON.*surrogate'),
    ('text_is_no_string', '{"title": "B", "text": 3}', ":1 .*'text'.* 3"),
    ('other_format', 'Dear all', "begins with 'Dear all'"),
    ('web_page', '\ufeff<!DOCTYPE HTML>', 'it is an HTML page'),
    ('cut_dump', wiki_dump.dump()[:-9], 'must be a MediaWiki dump'),
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
        [
          sources.Article('Zürich', 'A city.', '0'),
          sources.Article('Bern', 'History\n\nOld.\nVery.', '1'),
        ],
      )
      with self.assertRaisesRegex(errors.UserError, 'tfds:other'):
        list(sources.read_articles(['tfds:other']))


class RepeatedIdsTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    line = '{{"id": {}, "title": "A", "text": "B{}."}}\n'
    self._first = self.create_tempfile('1', line.format(7, 1)).full_path
    self._second = self.create_tempfile(
      '2', line.format('"8"', 2) + line.format('"7"', 3)
    ).full_path
    self._paths = [self._first, self._second]

  def test_are_refused_with_both_places(self):
    with self.assertRaisesRegex(
      errors.UserError, f"'7' at {self._second}:2 and at {self._first}:1"
    ):
      list(sources.read_articles(self._paths))

  def test_are_left_out_and_counted_if_told(self):
    counts = counts_lib.Counts(skip_errors=True)
    articles = list(sources.read_articles(self._paths, counts=counts))
    self.assertEqual([a.text for a in articles], ['B1.', 'B2.'])
    self.assertEqual(counts.left_out, {counts_lib.REPEATED: 1})

  def test_known_ids_are_refused(self):
    known = {'8': '/corpus'}
    articles = sources.read_articles(
      self._paths, find_known=lambda name: known.get(name, '')
    )
    with self.assertRaisesRegex(errors.UserError, "'8' at .* and at /corpus"):
      list(articles)


class LeftOutTest(absltest.TestCase):
  def _file(self, content, name='a'):
    return self.create_tempfile(name, content).full_path

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
    path = self._file(
      ''.join(f'{{"title": "{title}", "text": "A."}}\n' for title in titles)
    )
    counts = counts_lib.Counts()
    kept = list(sources.read_articles([path], drop_lists=True, counts=counts))
    self.assertEqual(
      [article.title for article in kept],
      ['Listening', 'A list of mine', 'Index'],
    )
    self.assertEqual(counts.left_out, {'list': 4, 'disambiguation': 1})
    self.assertLen(list(sources.read_articles([path])), len(titles))

  def test_reads_dumps_and_counts_what_is_left_out(self):
    path = self._file(
      wiki_dump.dump(
        wiki_dump.page('Bern', "A ''[[city]]''.", page_id=3),
        wiki_dump.page('Berne', '#REDIRECT [[Bern]]', redirect='Bern'),
        wiki_dump.page('List of cities', '* [[Bern]]'),
      )
    )
    counts = counts_lib.Counts()
    articles = list(
      sources.read_articles([path], drop_lists=True, counts=counts)
    )
    self.assertEqual(articles, [('Bern', "A ''[[city]]''.", '3', True, ())])
    plain = sources.plain(articles[0])
    self.assertEqual(plain, ('Bern', 'A city.', '3', False, ()))
    self.assertEqual(sources.plain(plain), plain)
    self.assertEqual(counts.left_out, {'redirect': 1, 'list': 1})

  def test_a_file_is_an_article_of_the_text_format(self):
    folder = self.create_tempdir()
    folder.create_file('b/Old_town.txt', 'It is old.\n\nVery.\n')
    folder.create_file('a.txt', ' ')
    with gzip.open(os.path.join(folder, 'c.txt.gz'), 'wt') as file:
      file.write('{"new": 1}')
    counts = counts_lib.Counts()
    self.assertEqual(
      list(sources.read_articles([folder.full_path], 'text', counts=counts)),
      [
        ('Old town', 'It is old.\n\nVery.', '1', False, ()),
        ('c', '{"new": 1}', '2', False, ()),
      ],
    )
    self.assertEqual(counts.left_out, {'empty': 1})

  def test_empty_articles_are_left_out(self):
    texts = '   \\n\\t ', '\u200b\u200b', '', 'Oslo.'
    path = self._file(
      ''.join(f'{{"title": "A", "text": "{text}"}}\n' for text in texts)
      + '{"title": "B", "text": null}\n'
    )
    counts = counts_lib.Counts()
    (article,) = sources.read_articles([path], counts=counts)
    self.assertEqual(article, sources.Article('A', 'Oslo.', '3'))
    self.assertEqual(counts.left_out, {'empty': 4})

  def test_a_broken_text_is_left_out_whole(self):
    good = self._file(b'A town.', 'good.TXT')
    cut = self._file(gzip.compress(b'Half a town.\n' * 99)[:-9], 'cut.txt')
    latin = self._file(b'Good line.\n\xe9\n', 'latin.txt')
    pdf = self._file(b'%PDF-1.4\n%\xe2\n', 'x.pdf')
    counts = counts_lib.Counts(skip_errors=True)
    articles = sources.read_articles(
      [good, cut, latin, pdf], 'text', counts=counts
    )
    self.assertEqual(list(articles), [sources.Article('good', 'A town.', '0')])
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 3})

  def test_skips_and_counts_what_is_broken(self):
    path = self._file(
      b'{"title": "\xff", "text": "B"}\n{"title": "A", "text": "B"}\n{"title"\n'
      b'[1]\n{"title": "C"}\n{"title": "D", "text": "E"}\n'
    )
    dump = self._file(
      wiki_dump.dump(wiki_dump.page('F', 'G', page_id=98), '<page>'), 'b'
    )
    wiki = self._file('<doc id="99" title="H">\nI\n</doc>\nJ\n', 'c')
    cut = self._file(bz2.compress(_JSONL.encode() * 999)[:-9], 'd')
    counts = counts_lib.Counts(skip_errors=True)
    articles = list(
      sources.read_articles([path, dump, wiki, cut], counts=counts)
    )
    self.assertEqual([a.title for a in articles[:4]], ['A', 'D', 'F', 'H'])
    # Four lines, the end of the dump, a line outside of articles, and the file.
    self.assertEqual(counts.left_out[counts_lib.UNREADABLE], 7)


if __name__ == '__main__':
  absltest.main()
