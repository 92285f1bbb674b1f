"""Tests for realm_tf.corpus.link_titles and the readers that use it."""

import os

from absl.testing import absltest

from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import link_titles
from realm_tf.corpus import sources
from tests import wiki_dump


class LinkTitlesTest(absltest.TestCase):
  def _read(self, text, counts=None):
    path = os.path.join(self.create_tempdir().full_path, 'file')
    with open(path, 'w', encoding='utf-8') as file:
      file.write(text)
    return list(sources.read_articles([path], counts=counts))

  def test_one_title_has_one_spelling(self):
    self.assertEqual(link_titles.normal(' new__York  city '), 'New York city')
    self.assertEqual(link_titles.normal('éire'), 'Éire')
    self.assertEqual(link_titles.normal(''), '')

  def test_wikitext_links_to_titles_without_words_and_sections(self):
    markup = (
      "[[lima]] '''[[Peru|the\ncountry]]''' [[AT&amp;T#Bell|x]] [[:Inca]]"
    )
    self.assertEqual(
      link_titles.in_markup(
        markup + ' [[#Here]] [[open [x] {{[[B_c]]}} [[\n]]'
      ),
      ['Lima', 'Peru', 'AT&T', 'Inca', 'B c'],
    )

  def test_a_dump_has_links_and_redirects(self):
    counts, redirects = counts_lib.Counts(), []
    counts.on_redirect = lambda *pair: redirects.append(pair)
    dump = wiki_dump.dump(
      wiki_dump.page('A', 'To [[b|C]].', 1),
      wiki_dump.page('b2', '#REDIRECT [[B]]', 2, redirect='B'),
    )
    (article,) = self._read(dump, counts)
    self.assertEqual(sources.linked_titles(article), ['B'])
    self.assertEqual(redirects, [('b2', 'B')])
    self.assertEqual(counts.left_out, {'redirect': 1})

  def test_wikiextractor_links_become_words(self):
    raw = '<a href="Puerto%20Rico%23Law">the\nisland</a> and <a href="b">B</a>'
    for text in (raw, raw.replace('<', '&lt;').replace('>', '&gt;')):
      (article,) = self._read(
        f'<doc id="7" url="" title="A">\nA\n\nSee {text}.\n</doc>\n'
      )
      self.assertEqual(article.text, 'See the\nisland and B.')
      self.assertEqual(sources.linked_titles(article), ['Puerto Rico', 'B'])

  def test_wikiextractors_json_is_read_as_its_own(self):
    (article,) = self._read(
      '{"id": "7", "url": "u", "title": "A", "text": "A\\n\\nSee '
      '<a href=\\"b\\">B</a>.<br>It is formula_1."}'
    )
    self.assertEqual(article.text, 'See B.')
    self.assertEqual(sources.linked_titles(article), ['B'])

  def test_other_articles_link_to_nothing(self):
    (article,) = self._read('{"title": "A", "text": "[[B]]"}')
    self.assertEqual(sources.linked_titles(article), [])


if __name__ == '__main__':
  absltest.main()
