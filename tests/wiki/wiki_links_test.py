"""Tests for realm_tf.wiki.wiki_links."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.wiki import wiki_links


class WikiLinksTest(parameterized.TestCase):
  @parameterized.parameters(
    ('Bern', 'Bern'),
    ('Bern|the city', 'the city'),
    ('New_York', 'New York'),
    ('Bern (city)|', 'Bern'),
    ('Star Trek: Picard', 'Star Trek: Picard'),
    ('It: Chapter Two', 'It: Chapter Two'),
    ('File:A.jpg|thumb|A map', ''),
    ('Datei:A.jpg|mini|Eine Karte', ''),
    ('Soubor:A.SVG|náhled', ''),
    (':File:A.jpg|a map', 'a map'),
    ('Category:Cities|B', ''),
    (':Category:Cities|cities', 'cities'),
    ('de:Bern', ''),
    ('zh-min-nan:Bern|x', ''),
    (':de:Bern', 'Bern'),
    (':en:Bern|words', 'words'),
    ('wikt:mountain', 'mountain'),
    ('s:Poem|a poem', 'a poem'),
    (':w:de:Bern', 'Bern'),
  )
  def test_words(self, link, expected):
    self.assertEqual(wiki_links.words(link.split('|')), expected)

  def test_a_link_without_an_end_leaves_its_words(self):
    self.assertEqual(wiki_links.unclosed(['a', 'b is']), 'b is')
    self.assertEqual(wiki_links.unclosed(['File:a.jpg', 'thumb\nb']), '\nb')


if __name__ == '__main__':
  absltest.main()
