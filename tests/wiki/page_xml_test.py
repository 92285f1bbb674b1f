"""Tests for realm_tf.wiki.page_xml."""

import io

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import mediawiki
from realm_tf.wiki import page_xml
from tests import wiki_dump

_GOOD = wiki_dump.page('B', 'Good.', page_id=2)


class PageXmlTest(parameterized.TestCase):
  def _read(self, xml, counts=None):
    file = io.BytesIO(xml.encode())
    return list(mediawiki.read_pages(file, 'wiki.xml', counts))

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
    with self.assertRaisesRegex(
      errors.UserError, rf'wiki\.xml:{line} must.*{what}'
    ):
      self._read(xml)
    counts = counts_lib.Counts(skip_errors=True)
    self.assertEqual([page.title for page in self._read(xml, counts)], ['B'])
    self.assertEqual(counts.left_out, {'unreadable': 1})

  def test_a_page_without_a_revision_is_empty(self):
    page = '<page><title>A</title><ns>0</ns><id>1</id></page>'
    read = self._read(wiki_dump.dump(page, _GOOD))
    self.assertEqual([page.drop_reason for page in read], ['empty', ''])

  def test_an_old_dump_has_its_namespaces_in_titles(self):
    page = wiki_dump.page('Talk:A', 'x').replace('<ns>0</ns>', '')
    other = wiki_dump.page('Star: A', 'x').replace('<ns>0</ns>', '')
    self.assertEqual(
      [page.drop_reason for page in self._read(wiki_dump.dump(page, other))],
      ['namespace', ''],
    )

  @parameterized.parameters(
    ('<model>wikibase-item</model><format>application/json</format>', 1),
    ('<model>css</model>', 0),
    ('<model>Scribunto</model><format>text/plain</format>', 0),
    ('<format>text/javascript</format>', 0),
  )
  def test_other_content_is_left_out(self, model, namespace):
    page = wiki_dump.page('A', 'x = 1', namespace=namespace)
    (read,) = self._read(
      wiki_dump.dump(page.replace('<text>', f'{model}<text>'))
    )
    self.assertEqual(read.drop_reason, 'content model')

  def test_wikitext_is_read_and_the_last_revision_counts(self):
    page = wiki_dump.page('A', '{}', revisions=['Words.']).replace(
      '<text>', '<model>wikitext</model><format>text/x-wiki</format><text>'
    )
    page = page.replace('wikitext', 'json', 1)
    (read,) = self._read(wiki_dump.dump(page))
    self.assertEqual((read.drop_reason, read.markup), ('', 'Words.'))

  def test_the_site_says_its_language_and_namespaces(self):
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
      self._read(head + wiki_dump.dump(_GOOD))

  def test_pages_before_the_end_of_a_cut_dump_are_kept(self):
    xml = wiki_dump.dump(_GOOD, _GOOD)[:-40]
    pages = mediawiki.read_pages(io.BytesIO(xml.encode()), 'wiki.xml')
    self.assertEqual(next(pages).title, 'B')
    with self.assertRaisesRegex(errors.UserError, "after page 'B'"):
      list(pages)


if __name__ == '__main__':
  absltest.main()
