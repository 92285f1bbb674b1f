"""Tests for realm_tf.wiki.page_xml."""

import io

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.wiki import page_xml
from tests import wiki_dump

_GOOD = wiki_dump.page('B', 'Good.', page_id=2)


class PageXmlTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('no_title', '<title>A</title>', '', 3, '<title>'),
    ('empty_title', '<title>A</title>', '<title> </title>', 3, '<title>'),
    ('no_id', '<id>7</id>', '', 3, '<id>'),
    ('id', '<id>7</id>', '<id>x7</id>', 3, '<id>'),
    ('long_id', '<id>7</id>', f'<id>{"9" * 5000}</id>', 3, '<id>'),
    ('namespace', '<ns>0</ns>', '<ns>zero</ns>', 3, '<ns>'),
    ('revision', '<id>1</id>', '<id></id>', 3, '<id>'),
    (
      'time',
      '<text>',
      '\n<timestamp>2024-13-01T00:00:00Z</timestamp><text>',
      4,
      '<timestamp>',
    ),
  )
  def test_a_broken_page_is_reported_with_its_line(self, old, new, line, what):
    page = wiki_dump.page('A', 'Text.', page_id=7)
    xml = wiki_dump.dump(page.replace(old, new, 1), _GOOD)
    with self.assertRaisesRegex(errors.UserError, rf':{line} must.*{what}'):
      list(wiki_dump.read(self, xml))
    counts = counts_lib.Counts(skip_errors=True)
    (article,) = wiki_dump.read(self, xml, counts)
    self.assertEqual(article.title, 'B')
    self.assertEqual(counts.left_out, {'unreadable': 1})

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

  def test_wikitext_is_read_and_the_last_revision_counts(self):
    page = wiki_dump.page('A', '{}', revisions=['Words.']).replace(
      '<text>', '<model>wikitext</model><format>text/x-wiki</format><text>'
    )
    page = page.replace('wikitext', 'json', 1)
    (article,) = wiki_dump.read(self, wiki_dump.dump(page))
    self.assertEqual(article.text, 'Words.')

  def test_reads_language_and_namespaces_of_the_site(self):
    xml = wiki_dump.dump(_GOOD).replace(
      '<mediawiki ', '<mediawiki xml:lang="de-AT" '
    )
    site = page_xml.Site()
    (page,) = page_xml.read(io.BytesIO(xml.encode()), 'wiki.xml', site)
    self.assertEqual((page.title, page.namespace, page.model), ('B', 0, ''))
    self.assertEqual((site.language, site.namespaces['1']), ('de', 'Talk'))

  @parameterized.parameters(
    '<!DOCTYPE mediawiki [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>',
    '<!DOCTYPE mediawiki SYSTEM "http://example.org/x.dtd">',
    '<?xml version="1.0" encoding="klingon"?>',
  )
  def test_hostile_xml_is_refused(self, head):
    with self.assertRaisesRegex(errors.UserError, 'at its beginning'):
      list(wiki_dump.read(self, head + wiki_dump.dump(_GOOD)))

  def test_pages_before_the_end_of_a_cut_dump_are_kept(self):
    articles = wiki_dump.read(self, wiki_dump.dump(_GOOD, _GOOD)[:-40])
    self.assertEqual(next(articles).title, 'B')
    with self.assertRaisesRegex(errors.UserError, "after page 'B'"):
      list(articles)


if __name__ == '__main__':
  absltest.main()
