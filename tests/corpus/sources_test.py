"""Tests for realm_tf.corpus.sources, and of the records of articles."""

import bz2
import gzip
import lzma
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from tests import input_case
from tests import wiki_dump

_JSONL = (
  '{"title": "Zürich", "text": "A city.", "id": 7}\n'
  '\n'
  '{"title": "Bern", "text": "B."}\n'
)
_WIKI = """<doc id="12" revid="7" url="x?curid=12" title="Tom &amp; "Jerry"">
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


class ReadArticlesTest(input_case.InputCase):
  @parameterized.parameters(bytes, gzip.compress, bz2.compress, lzma.compress)
  def test_recognizes_format_and_compression_by_content(self, compress):
    jsonl = self.file(compress(_JSONL.encode()))
    wiki = self.file(compress(_WIKI.encode()))
    self.assertEqual(
      self.articles(wiki, jsonl),
      [
        *_WIKI_ARTICLES,
        sources.Article('Zürich', 'A city.', '7'),
        sources.Article('Bern', 'B.', '3'),
      ],
    )

  def test_reads_directories_and_globs_in_order(self):
    folder = self.create_tempdir()
    for number, name in ((2, 'AB/wiki_00'), (1, 'AA/wiki_00')):
      folder.create_file(name, f'<doc id="{number}" title="B">\nC\n</doc>')
    for item in (folder.full_path, f'{folder.full_path}/*/wiki_*'):
      self.assertEqual([a[2] for a in self.articles(item)], ['1', '2'])

  @parameterized.named_parameters(
    ('no_text', '{"title": "B"}', ":1 must have one of 'text'.*Found 'title'"),
    ('title_is_no_string', '{"title": 7, "text": "B"}', ":1 .*'title'.* 7"),
    ('id_is_a_number', '{"id": 7.0, "text": "B"}', ':1 .* as id. Found 7.0'),
    ('text_is_no_string', '{"title": "B", "text": 3}', ":1 .*'text'.* 3"),
    ('other_format', 'Dear all', "Found 'Dear all'"),
    ('cut_gzip', gzip.compress(_JSONL.encode() * 99)[:60], 'readable'),
  )
  def test_bad_file_is_a_user_error_with_its_line(self, content, message):
    self.assert_refused(self.file(content), message)

  def test_missing_file_is_a_user_error_at_once(self):
    with self.assertRaisesRegex(errors.UserError, '/no/file-.*'):
      sources.read_articles(['/no/file-*'])

  def test_unknown_format_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, "Found 'xml'"):
      sources.read_articles([], 'xml')


class LeftOutTest(input_case.InputCase):
  def test_repeated_ids_are_refused_with_both_places_or_left_out(self):
    line = '{{"id": {}, "title": "A", "text": "B{}."}}\n'
    first = self.file(line.format(7, 1))
    second = self.file(line.format('"8"', 2) + line.format('"7"', 3))
    places = f"'7' at {second}:2 and at {first}:1"
    with self.assertRaisesRegex(errors.UserError, places):
      self.articles(first, second)
    articles, left_out = self.skipping(first, second)
    self.assertEqual([a.text for a in articles], ['B1.', 'B2.'])
    self.assertEqual(left_out, {counts_lib.REPEATED: 1})
    known = {'8': '/corpus'}
    with self.assertRaisesRegex(errors.UserError, "'8' at .* and at /corpus"):
      self.articles(second, find_known=lambda name: known.get(name, ''))

  def test_drops_pages_that_are_no_articles(self):
    kept = ['Listening', 'A list of mine', 'Index']
    dropped = ['List of rivers', 'Lists of Lists', 'Index of A', 'Outline of B']
    titles = [*dropped, 'Mercury (disambiguation)', *kept]
    path = self.file(
      ''.join(f'{{"title": "{title}", "text": "A."}}\n' for title in titles)
    )
    articles, left_out = self.skipping(path, drop_lists=True)
    self.assertEqual([article.title for article in articles], kept)
    self.assertEqual(left_out, {'list': 4, 'disambiguation': 1})
    self.assertLen(self.articles(path), len(titles))

  def test_a_file_is_an_article_of_the_text_format(self):
    folder = self.create_tempdir()
    folder.create_file('b/Old_town.txt', 'It is old.\n\nVery.\n')
    folder.create_file('a.txt', ' ')
    folder.create_file('c.txt.gz', gzip.compress(b'{"new": 1}'))
    articles, left_out = self.skipping(folder.full_path, format='text')
    self.assertEqual(
      articles,
      [
        sources.Article('Old town', 'It is old.\n\nVery.', '1'),
        sources.Article('c', '{"new": 1}', '2'),
      ],
    )
    self.assertEqual(left_out, {'empty': 1})

  def test_empty_articles_are_left_out(self):
    texts = '"   \\n\\t "', '"\u200b\u200b"', '""', '"Oslo."', 'null'
    lines = (f'{{"title": "A", "text": {text}}}\n' for text in texts)
    articles, left_out = self.skipping(self.file(''.join(lines)))
    self.assertEqual(articles, [sources.Article('A', 'Oslo.', '3')])
    self.assertEqual(left_out, {'empty': 4})

  def test_a_broken_text_is_left_out_whole(self):
    broken = [
      self.file(gzip.compress(b'Half a town.\n' * 99)[:-9], 'cut.txt'),
      self.file(b'Good line.\n\xe9\n', 'latin.txt'),
      self.file(b'%PDF-1.4\n%\xe2\n', 'x.pdf'),
    ]
    counts = counts_lib.Counts(skip_errors=True)
    good = self.file(b'A town.', 'good.TXT')
    articles = self.articles(good, *broken, format='text', counts=counts)
    self.assertEqual(articles, [sources.Article('good', 'A town.', '0')])
    self.assertIn(f' 3 unreadable ({", ".join(broken)})', counts.summary())

  def test_skips_and_counts_broken_records(self):
    articles, left_out = self.skipping(
      self.file(
        b'{"title": "\xff", "text": "B"}\n{"title": "A", "text": "B"}\n'
        b'{"title"\n[1]\n{"title": "C"}\n{"title": "D", "text": "E"}\n'
      ),
      self.file(wiki_dump.dump(wiki_dump.page('F', 'G', page_id=98), '<page>')),
      self.file('<doc id="99" title="H">\nI\n</doc>\nJ\n'),
      self.file(bz2.compress(_JSONL.encode() * 999)[:-9]),
    )
    self.assertEqual([a.title for a in articles[:4]], ['A', 'D', 'F', 'H'])
    # Four lines, the end of the dump, a line outside articles, and the file.
    self.assertEqual(left_out[counts_lib.UNREADABLE], 7)


class ArticleRecordsTest(input_case.InputCase):
  def test_an_article_that_is_written_is_read_again(self):
    given = [
      *_WIKI_ARTICLES,
      sources.Article('Bern', 'Bern\nBern is old.', 'x'),
      sources.Article('', 'Zürich.', '0'),
    ]
    path = os.path.join(self.create_tempdir(), 'articles.jsonl')
    json_text.write_lines(path, map(article_records.record, given))
    self.assertEqual(self.articles(path), given)

  def test_a_key_that_is_named_must_be_there(self):
    path = self.file('{"a": 1, "text": "B."}')
    articles = self.articles(path, keys=article_records.Keys('a'))
    self.assertEqual(articles, [sources.Article('', 'B.', '1')])
    for keys in (article_records.Keys('b'), article_records.Keys(text='b')):
      self.assert_refused(path, ":1 must have 'b'. Found", keys=keys)


_GOOD = '{"text": "Bern is old.", "spans": [[0, 4]], "id": 7}\n'


class TaggedSentencesTest(input_case.InputCase):
  def test_reads_and_counts(self):
    counts = counts_lib.Counts()
    path = self.file(_GOOD + '\n{"text": "No.", "spans": [], "id": null}')
    self.assertEqual(
      list(sources.read_tagged([path], counts)),
      [
        sources.TaggedSentence('Bern is old.', ((0, 4),), '7'),
        sources.TaggedSentence('No.', ()),
      ],
    )
    self.assertEqual(counts.kept, {'sentences': 2})

  @parameterized.parameters(
    '{"text": "Bern"',
    '{"text": "Bern"}',
    '{"text": 3, "spans": []}',
    '{"text": "Bern", "spans": [[0, 5]]}',
    '{"text": "Bern", "spans": [[2, 2]]}',
    '{"text": "Bern", "spans": [[0, true]]}',
  )
  def test_a_bad_line_is_a_user_error_or_skipped(self, line):
    path = self.file(f'{_GOOD}{line}\n{_GOOD}')
    with self.assertRaisesRegex(errors.UserError, f'{path}:2 must'):
      list(sources.read_tagged([path]))
    counts = counts_lib.Counts(skip_errors=True)
    self.assertLen(list(sources.read_tagged([path], counts)), 2)
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})


if __name__ == '__main__':
  absltest.main()
