"""Tests for realm_tf.wiki.disambiguation."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.wiki import disambiguation
from tests import linear_time


class DisambiguationTest(parameterized.TestCase):
  @parameterized.parameters(
    '{{disambiguation}}',
    '{{Disambig}}',
    '{{ dab }}',
    '{{Template:Hndis|Smith, John}}',
    '{{geodis}}',
    '{{disambiguation\n|surname|geo}}',
    '{{Hospital disambiguation}}',
    '{{Airport_disambiguation}}',
    '{{Species Latin name disambiguation}}',
    '{{Disambiguation page}}',
    '{{disambiguation cleanup|date=May 2020}}',
    '{{SchoolDisambig}}',
    '{{surname}}',
    '{{given name|nocat=yes}}',
    '{{Begriffsklärung}}',
    '[[Category:Disambiguation pages]]',
    '[[category: Place name disambiguation pages|Newton]]',
    '[[Category:Disambiguation pages with given-name-holder lists]]',
    '__DISAMBIG__',
    'A <nowiki> B {{disambig}}',
  )
  def test_pages(self, markup):
    self.assertTrue(disambiguation.is_one(f"'''X''' may be:\n{markup}"))

  @parameterized.parameters(
    'John Smith{{disambiguation needed|date=May 2013}}',
    '{{dabbing}} {{dab needed}}',
    '{{Surname-stub}} {{surname clarify}} {{surname hatnote|Kim}}',
    '{{given name order|Kim}}',
    '{{tl|disambiguation}}',
    '{{for disambiguation|x}}',
    '{{no disambiguation}}',
    '{{R from incomplete disambiguation}}',
    '{{other uses|X (disambiguation)}}',
    '<nowiki>{{disambig}}</nowiki> <pre>{{dab}}</pre>',
    '<!-- {{disambig}} -->',
    '<!-- {{disambig}}',
    '[[:Category:Disambiguation pages]]',
    '[[Category:Word-sense disambiguation]]',
    '[[Category:Articles with links needing disambiguation]]',
    '[[X (disambiguation)]]',
    'It is a disambiguation.',
  )
  def test_articles(self, markup):
    self.assertFalse(disambiguation.is_one(f"'''X''' is old. {markup}"))

  def test_categories_have_the_names_of_the_dump(self):
    markup = '[[Kategorie:Begriffsklärung]]'
    self.assertFalse(disambiguation.is_one(markup))
    self.assertTrue(disambiguation.is_one(markup, 'Kategorie'))

  @parameterized.parameters(
    '<!--', '<nowiki>', '{{', '{{a', '[[', '[[a:', '{{dis', '<pre>'
  )
  def test_time_is_linear(self, unit):
    linear_time.check(
      disambiguation.is_one, lambda n: 'disambig' + unit * n, 4000
    )


if __name__ == '__main__':
  absltest.main()
