"""Tests for realm_tf.corpus.rules_tagger."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import rules_tagger
from tests import input_case


def _found(*texts):
  spans = rules_tagger.RulesTagger().tag(texts)
  return [
    [text[start:end] for start, end in found]
    for text, found in zip(texts, spans)
  ]


class RulesTaggerTest(parameterized.TestCase):
  @parameterized.parameters(
    *('He lives in [Paris] now.', 'They met [Barack Obama] there.'),
    *('at the [University of California] in', 'the [Lord of the Rings] was'),
    *('a work by [Vincent van Gogh] from', 'was [Alexander the Great], who'),
    *('in [Austin], [Texas], and', 'both [France] and [Spain] are'),
    *("of [Darwin]'s books", "with [Shaquille O'Neal] in"),
    *('a [Rolls-Royce] car', 'the author [J. R. R. Tolkien] wrote'),
    *('in [St. Louis] by', 'joined [NATO] and the [U.S. Army]'),
    'the [US Department of Health]',
    'in [World War I] by [Henry VIII] in book IX',
    *('in [Zu\u0308rich] by [Jose\u0301 Li]', 'up [Mount\xa0Everest] now'),
    *('a [Rolls\u2011Royce]', 'in [Ams\xadter\xaddam] by'),
    *('in [Am\u200dster\u2060dam] by', 'by [Shaquille O’Neal] in'),
    'near [Besançon] and [Łódź] are',
    'on [20 July 1969] [Neil Armstrong] stepped',
    *('the [July 1969] [Apollo] mission', '[Neil Armstrong] walked.'),
    'In [Paris] it rains. The [Seine] is full.',
    *('However, it rains. It pours.', 'Rain falls. "Thunder rolls."'),
    *('[NASA] flew.', 'and I think I do', 'came on Monday with'),
    'about 1,500 km from',
    'and THE QUICK BROWN FOX JUMPS OVER ALL LAZY DOGS',
  )
  def test_tags_the_names_and_dates_in_brackets(self, marked):
    text = marked.replace('[', '').replace(']', '')
    (spans,) = rules_tagger.RulesTagger().tag([text])
    self.assertEqual(input_case.marked(text, spans), marked)

  def test_first_word_is_a_name_if_another_text_has_it_inside(self):
    self.assertEqual(
      _found('Berlin is large.', 'Wine is red.', 'He likes Berlin and wine.'),
      [['Berlin'], [], ['Berlin']],
    )

  def test_first_word_is_a_name_with_any_form_of_accent(self):
    self.assertEqual(
      _found('Zu\u0308rich is large.', 'He likes Zürich.'),
      [['Zu\u0308rich'], ['Zürich']],
    )

  def test_a_country_is_a_name_as_first_word(self):
    self.assertEqual(_found('Chad is dry. Sand is dry.'), [['Chad']])

  def test_common_first_word_is_cut_from_a_name(self):
    # 'President' is part of a name; 'critics' occurs only in lower case.
    self.assertEqual(
      _found('Painter Pablo Picasso lived.', 'A painter is here.'),
      [['Pablo Picasso'], []],
    )

  def test_no_texts(self):
    self.assertEqual(rules_tagger.RulesTagger().tag([]), [])
    self.assertEqual(rules_tagger.RulesTagger().tag(['']), [[]])


if __name__ == '__main__':
  absltest.main()
