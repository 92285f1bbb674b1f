"""Tests for realm_tf.corpus.mediawiki."""

import tracemalloc

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import mediawiki
from realm_tf.corpus import sources
from tests import linear_time
from tests import wiki_dump

# Markup that an expression could read in quadratic time.
_HOSTILE = (
  *('\n', ' ', '[[', '{{', '{{{', '<', '<!--', "''", '|', '=', '(', '&', '-{'),
  *('<ref', '<ref>', '<a href', '[http://', '[http://x ', '\n:;*#', '\n{|'),
  *('<nowiki>', '[[a|', '{{a|', '{{a|b=', '<b>', '<b a="', '\n* ', '<br/>'),
  *(
    '<math>',
    '\n|',
    ', ',
    '{{a}} ',
    'a{{a}}',
    '<sup>',
    '{{convert|5|to|',
    '&#9',
  ),
)


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
      article, ('Zürich', "'''Zürich''' <b> is a [[city]].", '7', True, ())
    )
    self.assertEqual(sources.linked_titles(article), ['City'])
    self.assertEqual(
      counts.left_out,
      {'redirect': 1, 'namespace': 1, 'disambiguation': 1, 'empty': 1},
    )

  def test_takes_the_newest_revision(self):
    page = wiki_dump.page('A', 'Old.', revisions=['Newer.', 'Newest.'])
    (article,) = wiki_dump.read(self, wiki_dump.dump(page))
    self.assertEqual(article.text, 'Newest.')

  def test_reads_the_namespaces_of_the_dump(self):
    xml = wiki_dump.dump(
      wiki_dump.page(
        'Bern',
        "[[Datei:A.jpg|mini|Die [[Stadt]]]][[bild:B|x]]'''{{PAGENAME}}''' hat "
        '{{formatnum:140000}} Einwohner.\n[[Kategorie:Ort|B]]\n[[en:Bern]]',
      ),
      wiki_dump.page('Alt', '#WEITERLEITUNG [[Bern]]'),
    ).replace('<mediawiki ', '<mediawiki xml:lang="de" ')
    names = '<namespace key="6">Bild</namespace><namespace key="14">Kategorie'
    xml = xml.replace('<namespaces>', f'<namespaces>{names}</namespace>')
    counts, redirects = counts_lib.Counts(), []
    counts.on_redirect = lambda *pair: redirects.append(pair)
    (article,) = wiki_dump.read(self, xml, counts)
    self.assertEqual(
      mediawiki.plain_text(article.text), 'Bern hat 140000 Einwohner.'
    )
    self.assertEqual(redirects, [('Alt', 'Bern')])

  def test_memory_does_not_grow_with_the_number_of_pages(self):
    def peak(num_pages):
      xml = wiki_dump.dump(wiki_dump.page('A', 'Text.') * num_pages)
      articles = wiki_dump.read(self, xml)
      tracemalloc.start()
      for _ in articles:
        pass
      result = tracemalloc.get_traced_memory()[1]
      tracemalloc.stop()
      return result

    peak(100)
    few, many = peak(1000), peak(5000)
    self.assertLess(many - few, 4000 * 20, 'bytes; a husk has a hundred')

  @parameterized.named_parameters(
    ('no_xml', 'Hello', 'at its beginning'),
    ('another_xml', '<wiki><page/></wiki>', 'at its beginning'),
    (
      'unclosed_tag',
      wiki_dump.dump(wiki_dump.page('A', 'x'), '<page><title>B</page>'),
      "after page 'A'",
    ),
    (
      'cut_off',
      wiki_dump.dump(wiki_dump.page('A', 'x'))[: -len('</mediawiki>\n') - 4],
      'must be a MediaWiki dump',
    ),
  )
  def test_a_broken_dump_is_a_user_error(self, xml, message):
    with self.assertRaisesRegex(errors.UserError, message):
      list(wiki_dump.read(self, xml))


class LinkedTitlesTest(absltest.TestCase):
  def test_one_title_has_one_spelling(self):
    self.assertEqual(
      mediawiki.normal_title(' new__York  city '), 'New York city'
    )
    self.assertEqual(mediawiki.normal_title('éire'), 'Éire')
    self.assertEqual(mediawiki.normal_title(''), '')

  def test_wikitext_links_to_titles_without_words_and_sections(self):
    markup = (
      "[[lima]] '''[[Peru|the\ncountry]]''' [[AT&amp;T#Bell|x]] [[:Inca]]"
    )
    self.assertEqual(
      mediawiki.linked_titles(
        markup + ' [[#Here]] [[open [x] {{[[B_c]]}} [[\n]]'
      ),
      ['Lima', 'Peru', 'AT&T', 'Inca', 'B c'],
    )


class PlainTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ("'''Bern''' is ''the'' city.", 'Bern is the city.'),
    ('A [[city]] of [[Switzerland|the Swiss]].', 'A city of the Swiss.'),
    ('It lies[[File:A.jpg|thumb|A [[map]].]] low.', 'It lies low.'),
    ('It is old.[[Category:Cities|B]]\n[[de:Bern]]', 'It is old.'),
    ('See [http://x.org its page], [http://y.org].', 'See its page,.'),
    (
      'Old.<ref name="a">[[B]] {{cite web}}</ref> New.<ref name="a"/>',
      'Old. New.',
    ),
    ('A {{convert|5|km|mi}} walk{{citation needed}}.', 'A 5 km walk.'),
    ('Bern ({{lang|fr|Berne}}; {{IPA|x}}) is old.', 'Bern (Berne) is old.'),
    ('Bern ({{IPA|x}}; born 1191) is old.', 'Bern (born 1191) is old.'),
    ('Bern ({{IPA|x}}) is old.', 'Bern is old.'),
    ('One{{x}}, {{y|{{z}}}}, two.', 'One, two.'),
    ('5&nbsp;km &ndash; far&#33;', '5 km – far!'),
    ('A.<!-- [[B]] -->', 'A.'),
    ('== History ==\nOld.\n=== More ===\nNew.', 'Old.\nNew.'),
    ('* one [[two]]\n*# three\n: four', 'one two\nthree\nfour'),
    ('A.\n{| class="x"\n! B\n|-\n| C || D\n|}\nE.', 'A.\nE.'),
    ('<div>A</div><br/>B<math>x</math><gallery>\nF.jpg|x\n</gallery>', 'A\nB'),
    ('__NOTOC__ A <small>b</small> H<sub>2</sub>O.', 'A b H2O.'),
    ('', ''),
  )
  def test_leaves_the_words(self, markup, expected):
    self.assertEqual(mediawiki.plain_text(markup), expected)

  @parameterized.parameters(
    'A [[city is.',
    'A {{city is.',
    'A <ref>city is.',
    "{| A\n| B\nA city is.A ]] '''city}} is|}.",
    '[[File:x.jpg|thumb|A city\n',
  )
  def test_leaves_no_markup_where_it_is_not_closed(self, markup):
    text = mediawiki.plain_text(markup)
    for mark in ('[[', ']]', '{{', '}}', '{|', '|}', '<ref', "''", 'thumb'):
      self.assertNotIn(mark, text)

  @parameterized.parameters(
    ('It is {{unknown|5}} long. It rains.', 'It rains.'),
    ('It is {{convert|{{x}}|km}} long. It rains.', 'It rains.'),
    ('It is {{convert|{{#expr:2+3}}|km}} long.', 'It is 5 km long.'),
    ('Let <math>\\frac{a}{b}</math> be odd. It rains.', 'It rains.'),
    ('Energy is <math>E=mc^2</math> here.', 'Energy is E=mc² here.'),
    ('Use <code>if</code> to branch.', 'Use if to branch.'),
    ('See <nowiki>{{dab}} or [[b]]</nowiki>.', 'See dab or b.'),
    ('{{nowrap|1=a = {{abbr|b=c|d}}}}', 'a = d'),
    ('{{small|[[a{{!}}b]]}} {{{1|c}}}', 'b c'),
    ('A.<ref>[[b</ref> C.<ref>D <references/> E.\nF.', 'A. C.\nF.'),
    ('A.\n{|\n| [[b]]\n{|\n| c\n|}\n|}\nD.', 'A.\nD.'),
    ('A.\n<table><tr><td>b</td></tr></table>C.', 'A.\nC.'),
    ('A.<!-- b', 'A.'),
    ('{{x|[[a]]\nA. B.', 'A. B.'),
    ('If it is 5; then 6 *', 'If it is 5; then 6 *'),
    ('At {{coord|1|N}}, it is old. It rains.', 'It rains.'),
    ("!Kung is ''a'' language.", '!Kung is a language.'),
    ('İstanbul <ref>İ</ref>is old.', 'İstanbul is old.'),
    ('Its site is http://x.org/a. It rains.', 'It rains.'),
  )
  def test_sentences_are_whole(self, markup, expected):
    self.assertEqual(mediawiki.plain_text(markup), expected)

  @parameterized.parameters(*_HOSTILE)
  def test_time_is_linear(self, unit):
    linear_time.check(mediawiki.plain_text, lambda n: unit * n, 500)

  def test_drops_blank_lines_and_edges(self):
    self.assertEqual(mediawiki.plain_text('\n\n A  b. \n\n\nC.\n'), 'A b.\nC.')


if __name__ == '__main__':
  absltest.main()
