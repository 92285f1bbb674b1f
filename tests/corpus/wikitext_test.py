"""Tests for realm_tf.corpus.wikitext and wiki_templates."""

import subprocess
import sys

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import wiki_templates as templates
from realm_tf.corpus import wikitext
from tests import linear_time


class PlainTextTest(parameterized.TestCase):
  @parameterized.parameters(
    ("'''Bern''' is ''the'' city.", 'Bern is the city.'),
    ('A [[city]] of [[Switzerland|the Swiss]].', 'A city of the Swiss.'),
    ('It lies[[File:A.jpg|thumb|A [[map]].]] low.', 'It lies low.'),
    ('It is old.[[Category:Cities|B]]\n[[de:Bern]]', 'It is old.'),
    ('[[Soubor:A.SVG|x]] [[:File:A.jpg|a map]], [[:de:Bern]].', 'a map, Bern.'),
    ('[[Star Trek: Picard]], [[It: Two]], [[wikt:hill]]', None),
    ('See [http://x.org its page], [http://y.org].', 'See its page,.'),
    ('A.<ref name="a">[[B]] {{cite web}}</ref> C.<ref name="a"/>', 'A. C.'),
    ('A {{convert|5|km|mi}} walk{{citation needed}}.', 'A 5 km walk.'),
    ('Bern ({{lang|fr|Berne}}; {{IPA|x}}) is old.', 'Bern (Berne) is old.'),
    ('Bern ({{IPA|x}}; born 1191) is old.', 'Bern (born 1191) is old.'),
    ('Bern ({{IPA|x}}) is old.', 'Bern is old.'),
    ('One{{x}}, {{y|{{z}}}}, two.', 'One, two.'),
    ('5&nbsp;km &ndash; far&#33; A&amp;nbsp;B', '5 km – far! A B'),
    ('A.<!-- [[B]] -->', 'A.'),
    ('== History ==\nOld.\n=== More ===\nNew.', 'Old.\nNew.'),
    ('* one [[two]]\n*# three\n: four', 'one two\nthree\nfour'),
    ('; Bern: a city', 'Bern: a city'),
    ('A.\n{| class="x"\n! B\n|-\n| C || D\n|}\nE.', 'A.\nE.'),
    ('<div>A</div><br/>B<math>x</math><gallery>\nF.jpg|x\n</gallery>', 'A\nB'),
    ('__NOTOC__ A <small>b</small> H<sub>2</sub>O.', 'A b H2O.'),
    ('5 km<sup>2</sup>, 10<sup>&minus;6</sup>', '5 km², 10⁻⁶'),
    ('a<b, a <b and c> d, vector<int>', 'a<b, a <b and c> d, vector<int>'),
    ('\n\n A  b. \n\n\nC.\n', 'A b.\nC.'),
    ('', ''),
  )
  def test_leaves_the_words(self, markup, expected):
    expected = (
      'Star Trek: Picard, It: Two, hill' if expected is None else expected
    )
    self.assertEqual(wikitext.plain_text(markup), expected)

  @parameterized.parameters(
    'A [[city is.',
    'A {{city is.',
    'A <ref>city is.',
    "{| A\n| B\nA city is.A ]] '''city}} is|}.",
    '[[File:x.jpg|thumb|A city\n',
  )
  def test_leaves_no_markup_where_it_is_not_closed(self, markup):
    text = wikitext.plain_text(markup)
    for mark in ('[[', ']]', '{{', '}}', '{|', '|}', '<ref', "''", 'thumb'):
      self.assertNotIn(mark, text)

  @parameterized.parameters(
    ('It is {{unknown|5}} long. It rains.', 'It rains.'),
    ('It is {{convert|{{x}}|km}} long. It rains.', 'It rains.'),
    ('Let <math>\\frac{a}{b}</math> be odd. It rains.', 'It rains.'),
    ('Energy is <math>E=mc^2</math> here.', 'Energy is E=mc² here.'),
    ('Use <code>if</code> to branch.', 'Use if to branch.'),
    ('{{small|[[a|b]]}} {{{1|c}}}', 'b c'),
    ('A.\n{|\n| [[b]]\n{|\n| c\n|}\n|}\nD.', 'A.\nD.'),
    ('A.\n<table><tr><td>b</td></tr></table>C.', 'A.\nC.'),
    ('If it is 5; then 6 *', 'If it is 5; then 6 *'),
    ('At {{coord|1|N}}, it is old. It rains.', 'It rains.'),
    ("!Kung is ''a'' language.", '!Kung is a language.'),
    ('İstanbul <ref>İ</ref>is old.', 'İstanbul is old.'),
    ('Its site is http://x.org/a. It rains.', 'It rains.'),
  )
  def test_sentences_are_whole(self, markup, expected):
    self.assertEqual(wikitext.plain_text(markup), expected)

  @parameterized.parameters(
    ('convert|5|ft|m', '5 ft'),
    ('Convert|1300|mi|km|abbr=on', '1,300 mi'),
    ('convert|5|to|10|mi|km', '5 to 10 mi'),
    ('convert|5|-|6|km', '5–6 km'),
    ('convert|3|x|4|m', '3 × 4 m'),
    ('convert|5|ft|10|in|m', '5 ft 10 in'),
    ('convert|5|km|0', '5 km'),
    ('convert|640|sqmi|km2', '640 sq mi'),
    ('convert|30|m3', '30 m³'),
    ('convert|-40|F', '−40 °F'),
    ('cvt|1=5|2=km', '5 km'),
    ('val|5.2|e=3|u=km', '5.2×10³ km'),
    ('frac|3|1|2', '3 1/2'),
    ('frac|3', '1/3'),
    ('birth date|1910|3|5', 'March 5, 1910'),
    ('birth date and age|1970|01|2|df=yes', '2 January 1970'),
    ('start date|2010', '2010'),
    ('date|2010-05-04', '2010-05-04'),
    ('as of|2011|3|lc=y', 'as of March 2011'),
    ('reign|1910|1920', 'r. 1910–1920'),
    ('small|1=a', 'a'),
    ('lang-fr|Berne', 'Berne'),
    ('transl|ja|Hepburn|aoi', 'aoi'),
    ('hlist|a|b', 'a, b'),
    ('quote|text=It is old.|author=A', 'It is old.'),
    ('chem|H|2|O', 'H2O'),
    ("'s", "'s"),
    ('lc:ABC', 'ABC'),
    ('citation needed|date=May 2013', ''),
    ('Clarification_needed', ''),
    ('Infobox person\n|name=A', ''),
    ('Norway-stub', ''),
  )
  def test_templates_leave_their_words(self, template, words):
    self.assertEqual(
      wikitext.plain_text(f'It {{{{{template}}}}}.'),
      f'It {words}.' if words else 'It.',
    )

  @parameterized.parameters(
    'convert|about five|km',
    'convert',
    'birth date',
    'small',
    'reign|1910',
    '#invoke:math|add|1',
  )
  def test_a_sentence_without_the_words_of_a_template_goes(self, template):
    markup = f'It is {{{{{template}}}}} long. It rains.'
    self.assertEqual(wikitext.plain_text(markup), 'It rains.')


class LightStartTest(absltest.TestCase):
  def test_processes_that_render_load_no_tensorflow(self):
    code = 'import sys, realm_tf.corpus.wikitext; print(*sys.modules)'
    done = subprocess.run(
      [sys.executable, '-c', code], check=True, capture_output=True, text=True
    )
    self.assertNotIn('tensorflow', done.stdout.split())


class LinkedTitlesTest(absltest.TestCase):
  def test_one_title_has_one_spelling(self):
    for title, expected in (
      (' new__York  city ', 'New York city'),
      ('éire', 'Éire'),
      ('', ''),
    ):
      self.assertEqual(wikitext.normal_title(title), expected)

  def test_wikitext_links_to_titles_without_words_and_sections(self):
    markup = (
      "[[lima]] '''[[Peru|the\ncountry]]''' [[AT&amp;T#Bell|x]] [[:Inca]]"
      ' [[#Here]] [[open [x] {{[[B_c]]}} [[\n]]'
    )
    self.assertEqual(
      wikitext.linked_titles(markup), ['Lima', 'Peru', 'AT&T', 'Inca', 'B c']
    )


def _cut(text):
  return templates.cut(
    text.replace('#', templates.HOLE).replace('@', templates.LOST)
  )


class HolesTest(parameterized.TestCase):
  @parameterized.parameters(
    'It lies # above the sea.',
    'It has # people.',
    'The star is # away.',
    'It is as long as #.',
    'It cost $#.',
    'It is #km long.',
    'It grew from 5 to #.',
    '# is a town.',
    'The vowel @ is common.',
    'Its size, @, is known.',
  )
  def test_drops_a_sentence_that_lacks_a_word(self, sentence):
    self.assertEqual(
      _cut(f'It is old. {sentence} It rains.'), 'It is old. It rains.'
    )

  @parameterized.parameters(
    ('It is old.# It rains.', 'It is old. It rains.'),
    ('It is old#, they say.', 'It is old, they say.'),
    ('It is old. # It rains.', 'It is old. It rains.'),
    ('# France won.', 'France won.'),
    ('One, #, two.', 'One, , two.'),
    ('# #', ''),
    ('It (#) is old.', 'It () is old.'),
    ('It (@; born 1191) is old.', 'It (; born 1191) is old.'),
    ('It (about # long) is old.', 'It is old.'),
    ('It is 5 km long.', 'It is 5 km long.'),
  )
  def test_other_holes_close(self, text, expected):
    self.assertEqual(_cut(text).strip(' '), expected)


class DisambiguationTest(parameterized.TestCase):
  @parameterized.parameters(
    '{{disambiguation}}',
    '{{ dab }}',
    '{{Template:Hndis|Smith, John}}',
    '{{geodis}}',
    '{{disambiguation\n|surname|geo}}',
    '{{Airport_disambiguation}}',
    '{{Disambiguation page}}',
    '{{disambiguation cleanup|date=May 2020}}',
    '{{SchoolDisambig}}',
    '{{surname}}',
    '{{given name|nocat=yes}}',
    '{{Begriffsklärung}}',
    '[[category: Place name disambiguation pages|Newton]]',
    '__DISAMBIG__',
    'A <nowiki> B {{disambig}}',
  )
  def test_pages(self, markup):
    self.assertTrue(wikitext.is_disambiguation(f"'''X''' may be:\n{markup}"))

  @parameterized.parameters(
    'John Smith{{disambiguation needed|date=May 2013}}',
    '{{dabbing}} {{dab needed}}',
    '{{Surname-stub}} {{surname clarify}} {{surname hatnote|Kim}}',
    '{{given name order|Kim}}',
    '{{tl|disambiguation}}',
    '{{for disambiguation|x}}',
    '{{R from incomplete disambiguation}}',
    '{{other uses|X (disambiguation)}}',
    '<nowiki>{{disambig}}</nowiki> <pre>{{dab}}</pre>',
    '<!-- {{disambig}} --> <!-- {{disambig}}',
    '[[:Category:Disambiguation pages]]',
    '[[Category:Word-sense disambiguation]]',
    '[[Category:Articles with links needing disambiguation]]',
    '[[X (disambiguation)]]',
    'It is a disambiguation.',
  )
  def test_articles(self, markup):
    self.assertFalse(wikitext.is_disambiguation(f"'''X''' is old. {markup}"))


class LinearTimeTest(parameterized.TestCase):
  @parameterized.parameters(
    *('<', '<!--', "''", '|', '=', '(', '&', '<ref', '[http://x ', '\n* '),
    *('<sup>', ', ', '&#9', '[[', '{{', '# ', '(# b)', 'A. # ', '@', '<b a="'),
  )
  def test_of_text_after_the_parser(self, unit):
    linear_time.check(
      wikitext.without_marks,
      lambda n: (
        (unit * n).replace('#', templates.HOLE).replace('@', templates.LOST)
      ),
      1000,
    )


if __name__ == '__main__':
  absltest.main()
