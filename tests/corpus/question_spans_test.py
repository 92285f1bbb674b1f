"""Tests for realm_tf.corpus.question_spans."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import question_spans
from realm_tf.corpus import rules_tagger


def _find(text, people=()):
  """Returns answer -> (kind, words that a question leaves out, its words)."""
  (names,) = rules_tagger.RulesTagger().tag([text])
  return {
    text[each.start : each.end]: (
      each.kind,
      text[each.first : each.last],
      each.words,
    )
    for each in question_spans.find(text, names, people)
  }


class QuestionSpansTest(parameterized.TestCase):
  @parameterized.parameters(
    # Dates lose their preposition if 'when' replaces it.
    ('It burned in 1931.', '1931', 'in 1931', 'when'),
    ('It burned in 1931.', '1931', 'in 1931', 'in what year'),
    ('It burned on 4 May 1931.', '4 May 1931', 'on 4 May 1931', 'on what date'),
    ('It stood until 1931.', '1931', 'until 1931', 'until what year'),
    ('It fell in the 1930s.', '1930s', 'in the 1930s', 'in what decade'),
    # Numbers take their noun along.
    ('It has six old mills.', 'six', 'six old mills', 'how many old mills'),
    ('It has 1,200 people.', '1,200', '1,200 people', 'how many people'),
    ('It has about 9 men.', '9', 'about 9 men', 'how many men'),
    ('It lost 12% of it.', '12%', '12%', 'what percentage'),
    ('It cost $3 million.', '$3 million', '$3 million', 'how much'),
    ('It is 90 feet tall.', '90 feet', '90 feet tall', 'how tall'),
    ('It ran for two years.', 'two years', 'for two years', 'for how long'),
    # Names: what stands around them tells the kind.
    ('It was cast by Olga Vens.', 'Olga Vens', 'Olga Vens', 'who'),
    ('The poet Olga Vens left.', 'Olga Vens', 'The poet Olga Vens',
     'which poet'),
    ("He is Peter Ohm's son.", 'Peter Ohm', "Peter Ohm's son", 'whose son'),
    ('It was seen in Lendor.', 'Lendor', 'in Lendor', 'where'),
    ('He saw the city of Lendor.', 'Lendor', 'the city of Lendor', 'what city'),
    ('He saw the Lend River.', 'Lend River', 'the Lend River', 'which river'),
    ('He left for Peru.', 'Peru', 'Peru', 'what country'),
    ('He spoke in Swedish.', 'Swedish', 'Swedish', 'what language'),
    # Phrases at the end of a clause.
    ('It has an iron roof.', 'iron roof', 'an iron roof', 'what'),
    ('It is made of baked clay.', 'baked clay', 'baked clay', 'what'),
    ('It fell because of heavy rain.', 'of heavy rain', 'because of heavy rain',
     'why'),
  )  # fmt: skip
  def test_a_span_with_its_words(self, text, answer, left_out, word):
    found = _find(text)
    self.assertIn(answer, found)
    self.assertEqual(found[answer][1], left_out)
    self.assertIn(word, found[answer][2])

  def test_a_last_name_is_a_person_in_the_whole_article(self):
    text = 'A prize went to Vens.'
    self.assertEqual(_find(text)['Vens'], ('other names', 'Vens', ('what',)))
    people = list(question_spans.last_names('Olga Vens wrote.', [(0, 9)]))
    self.assertEqual(people, ['Vens'])
    self.assertEqual(_find(text, people)['Vens'], ('persons', 'Vens', ('who',)))

  @parameterized.parameters(
    ('He saw Vens and Ohm.', 'Vens'),
    ('He saw Vens and Ohm.', 'Ohm'),
    ('The Lendor bridge fell.', 'Lendor'),
    ('The 1931 flood came.', '1931'),
  )
  def test_one_of_several_or_an_attribute_only_answers(self, text, answer):
    for found in (_find(text), _find(text, ['Vens', 'Ohm'])):
      self.assertEqual(found.get(answer, ('', '', ()))[2], ())

  def test_other_texts_have_the_taggers_terms(self):
    found = question_spans.find('das alte rathaus brennt', [(9, 16)])
    self.assertEqual(
      found, [question_spans.Asked(9, 16, 'phrases', 9, 16, ('what',))]
    )

  def test_spans_do_not_overlap(self):
    text = 'In May 1931, six men of the Lend River Company left for 12 weeks.'
    (names,) = rules_tagger.RulesTagger().tag([text])
    found = sorted(question_spans.find(text, names))
    self.assertGreater(len(found), 3)
    for one, following in zip(found, found[1:]):
      self.assertLessEqual(one.end, following.start)

  def test_a_very_long_sentence_has_none(self):
    self.assertEqual(_find('It burned in 1931 ' + 'and so on ' * 100), {})


if __name__ == '__main__':
  absltest.main()
