"""Tests for realm_tf.corpus.rules_tagger."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import rules_tagger


def _found(*texts):
  spans = rules_tagger.RulesTagger().tag(texts)
  return [
    [text[start:end] for start, end in found]
    for text, found in zip(texts, spans)
  ]


class RulesTaggerTest(parameterized.TestCase):
  @parameterized.named_parameters(
    ('one_word', 'He lives in Paris now.', ['Paris']),
    ('two_words', 'They met Barack Obama there.', ['Barack Obama']),
    ('of', 'at the University of California in', ['University of California']),
    ('of_the', 'the Lord of the Rings was', ['Lord of the Rings']),
    ('van', 'a work by Vincent van Gogh from', ['Vincent van Gogh']),
    ('the_great', 'was Alexander the Great, who', ['Alexander the Great']),
    ('comma_parts', 'in Austin, Texas, and', ['Austin', 'Texas']),
    ('and_parts', 'both France and Spain are', ['France', 'Spain']),
    ('possessive', "of Darwin's books", ['Darwin']),
    ('apostrophe', "with Shaquille O'Neal in", ["Shaquille O'Neal"]),
    ('hyphen', 'a Rolls-Royce car', ['Rolls-Royce']),
    ('initials', 'the author J. R. R. Tolkien wrote', ['J. R. R. Tolkien']),
    ('abbreviation', 'in St. Louis by', ['St. Louis']),
    ('acronym', 'joined NATO and the U.S. Army', ['NATO', 'U.S. Army']),
    (
      'acronym_like_a_word',
      'the US Department of Health',
      ['US Department of Health'],
    ),
    (
      'numeral',
      'in World War I by Henry VIII in book IX',
      ['World War I', 'Henry VIII'],
    ),
    (
      'decomposed',
      'in Zu\u0308rich by Jose\u0301 Li',
      ['Zu\u0308rich', 'Jose\u0301 Li'],
    ),
    ('no_break_space', 'up Mount\xa0Everest now', ['Mount\xa0Everest']),
    ('no_break_hyphen', 'a Rolls\u2011Royce', ['Rolls\u2011Royce']),
    ('soft_hyphen', 'in Ams\xadter\xaddam by', ['Ams\xadter\xaddam']),
    ('joiner', 'in Am\u200dster\u2060dam by', ['Am\u200dster\u2060dam']),
    ('curly_apostrophe', 'by Shaquille O’Neal in', ['Shaquille O’Neal']),
    ('accent', 'near Besançon and Łódź are', ['Besançon', 'Łódź']),
    (
      'date_and_name',
      'on 20 July 1969 Neil Armstrong stepped',
      ['20 July 1969', 'Neil Armstrong'],
    ),
    (
      'date_cuts_a_run',
      'the July 1969 Apollo mission',
      ['July 1969', 'Apollo'],
    ),
    ('first_word_followed', 'Neil Armstrong walked.', ['Neil Armstrong']),
    (
      'function_word_first',
      'In Paris it rains. The Seine is full.',
      ['Paris', 'Seine'],
    ),
    ('function_word_alone', 'However, it rains. It pours.', []),
    ('unknown_first_word', 'Rain falls. "Thunder rolls."', []),
    ('acronym_first', 'NASA flew.', ['NASA']),
    ('pronoun', 'and I think I do', []),
    ('weekday', 'came on Monday with', []),
    ('number_with_unit', 'about 1,500 km from', []),
    ('shouting', 'and THE QUICK BROWN FOX JUMPS OVER ALL LAZY DOGS', []),
  )
  def test_tags(self, text, expected):
    self.assertEqual(_found(text), [expected])

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

  def test_spans_are_sorted_and_do_not_overlap(self):
    text = (
      'In May 1940 the Battle of France began; Paris fell on 14 June '
      '1940 to the Wehrmacht of Germany.'
    )
    [spans] = rules_tagger.RulesTagger().tag([text])
    self.assertLen(spans, 5)
    flat = [position for span in spans for position in span]
    self.assertEqual(flat, sorted(flat))

  def test_no_texts(self):
    self.assertEqual(rules_tagger.RulesTagger().tag([]), [])
    self.assertEqual(rules_tagger.RulesTagger().tag(['']), [[]])


if __name__ == '__main__':
  absltest.main()
