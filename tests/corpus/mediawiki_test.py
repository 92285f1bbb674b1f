"""Tests for realm_tf.corpus.mediawiki, with pages in worker processes."""

import tracemalloc

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import mediawiki
from tests import wiki_dump

_GOOD = wiki_dump.page('B', 'Good.', page_id=2)


class ReadArticlesTest(parameterized.TestCase):
  def test_reads_articles_and_counts_the_other_pages(self):
    counts = counts_lib.Counts()
    xml = wiki_dump.dump(
      wiki_dump.page('Zürich', "'''Zürich''' <b> is a [[city]].", page_id=7),
      wiki_dump.page('Old name', '#REDIRECT [[Zürich]]', redirect='Zürich'),
      wiki_dump.page('Talk:Zürich', 'I like it.', namespace=1),
      wiki_dump.page('Mercury', 'A planet.\n{{Disambiguation|x}}'),
      wiki_dump.page('Nothing', ''),
    )
    (article,) = wiki_dump.read(self, xml, counts)
    self.assertEqual(
      article, ('Zürich', 'Zürich is a city.', '7', False, ('City',))
    )
    self.assertEqual(
      counts.left_out,
      {'redirect': 1, 'namespace': 1, 'disambiguation': 1, 'empty': 1},
    )

  def test_reads_the_namespaces_of_the_dump(self):
    xml = wiki_dump.dump(
      wiki_dump.page(
        'Bern',
        "[[Datei:A.jpg|mini|Die [[Stadt]]]][[bild:B|x]]'''{{PAGENAME}}''' hat "
        '{{formatnum:140000}} Einwohner.\n[[Kategorie:Ort|B]]\n[[en:Bern]]',
      ),
      wiki_dump.page('Alt', '#WEITERLEITUNG [[Bern]]'),
      wiki_dump.page('X', 'A.\n[[Kategorie:Begriffsklärung]]'),
    )
    names = '<namespace key="6">Bild</namespace><namespace key="14">Kategorie'
    xml = xml.replace('<namespaces>', f'<namespaces>{names}</namespace>')
    counts, redirects = counts_lib.Counts(), []
    counts.on_redirect = lambda *pair: redirects.append(pair)
    (article,) = wiki_dump.read(self, xml, counts)
    self.assertEqual(article.text, 'Bern hat 140000 Einwohner.')
    self.assertEqual(redirects, [('Alt', 'Bern')])

  def test_takes_the_newest_revision(self):
    page = wiki_dump.page('A', '{}', revisions=['Newer.', 'Newest.']).replace(
      '<text>', '<model>wikitext</model><format>text/x-wiki</format><text>'
    )
    page = page.replace('wikitext', 'json', 1)
    (article,) = wiki_dump.read(self, wiki_dump.dump(page))
    self.assertEqual(article.text, 'Newest.')

  @parameterized.parameters(
    ('<page><title>A</title><ns>0</ns><id>1</id></page>', 'empty'),
    # An old dump has namespaces only in titles.
    (wiki_dump.page('Talk:A', 'x').replace('<ns>0</ns>', ''), 'namespace'),
    *(
      (wiki_dump.page('A', 'x').replace('<text>', f'{kind}<text>'), kind_name)
      for kind_name, kind in (
        ('content model', '<model>css</model>'),
        ('content model', '<format>text/javascript</format>'),
        ('content model', '<model>json</model><format>text/x-wiki</format>'),
      )
    ),
  )
  def test_other_content_is_left_out(self, page, reason):
    counts = counts_lib.Counts()
    star = wiki_dump.page('Star: A', 'x').replace('<ns>0</ns>', '')
    (article,) = wiki_dump.read(self, wiki_dump.dump(page, star), counts)
    self.assertEqual(article.title, 'Star: A')
    self.assertEqual(counts.left_out, {reason: 1})

  def test_memory_does_not_grow_with_the_number_of_pages(self):
    def peak(num_pages):
      xml = wiki_dump.dump(wiki_dump.page('A', 'Text.') * num_pages)
      path = self.create_tempfile(content=xml).full_path
      articles = mediawiki.read_articles(path, counts_lib.STRICT)
      tracemalloc.start()
      for _ in articles:
        pass
      result = tracemalloc.get_traced_memory()[1]
      tracemalloc.stop()
      return result

    peak(100)
    few, many = peak(1000), peak(3000)
    self.assertLess(many - few, 2000 * 20, 'bytes; a husk has a hundred')


class BrokenDumpTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('no_title', '<title>A</title>', ''),
    ('empty_title', '<title>A</title>', '<title> </title>'),
    ('no_id', '<id>7</id>', ''),
    ('time', '<text>', '<timestamp>2024-13-01T00:00:00Z</timestamp><text>'),
  )
  def test_a_broken_page_is_reported_with_its_number(self, old, new):
    page = wiki_dump.page('A', 'Text.', page_id=7)
    xml = wiki_dump.dump(page.replace(old, new, 1), _GOOD)
    with self.assertRaisesRegex(errors.UserError, ', page 1, must have a'):
      list(wiki_dump.read(self, xml))
    counts = counts_lib.Counts(skip_errors=True)
    (article,) = wiki_dump.read(self, xml, counts)
    self.assertEqual(article.title, 'B')
    self.assertEqual(counts.left_out, {'unreadable': 1})

  @parameterized.named_parameters(
    ('no_xml', 'Hello', 'at its beginning'),
    ('another_xml', '<wiki><page/></wiki>', 'at its beginning'),
    ('unclosed', wiki_dump.dump(_GOOD, '<page><title>C</page>'), "page 'B'"),
    ('bombs', '<!DOCTYPE mediawiki [<!ENTITY a "ha">]>', 'at its beginning'),
    ('encoding', '<?xml version="1.0" encoding="klingon"?>', 'beginning'),
  )
  def test_another_file_is_a_user_error(self, xml, message):
    with self.assertRaisesRegex(errors.UserError, f'MediaWiki dump.*{message}'):
      list(wiki_dump.read(self, xml))

  def test_pages_before_the_end_of_a_cut_dump_are_kept(self):
    articles = wiki_dump.read(self, wiki_dump.dump(_GOOD, _GOOD)[:-40])
    self.assertEqual(next(articles).title, 'B')
    with self.assertRaisesRegex(errors.UserError, "after page 'B'"):
      list(articles)


class RenderedTest(absltest.TestCase):
  def test_pages_over_a_limit_are_left_out_counted_and_named(self):
    pages = [
      ('1', 'It is old.', True),
      ('2', '[http://' * 200_000, True),  # The parser needs an hour.
      ('3', 'a' * 2_000_001, True),
      ('4', '{{', False),
      ('5', '[[B]]', True),
    ]
    articles = (
      (f'f ({name})', article_records.Article('A', text, name, is_wikitext))
      for name, text, is_wikitext in pages
    )
    counts = counts_lib.Counts()
    with self.assertLogs(level='WARNING') as logs:
      found = list(mediawiki.rendered(articles, counts, 2, max_seconds=1.0))
    texts = [article.text for _, article in found]
    self.assertEqual(texts, ['It is old.', '{{', 'B'])
    self.assertEqual(
      counts.left_out,
      {'page that took over 1 s': 1, 'page over 2,000,000 characters': 1},
    )
    self.assertIn('f (2), page that took over 1 s', logs.output[0])


if __name__ == '__main__':
  absltest.main()
