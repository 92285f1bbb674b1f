"""Tests for realm_tf.corpus.question_spans and question_wording."""

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.corpus import question_spans
from realm_tf.corpus import question_wording
from realm_tf.corpus import salient_spans


def _find(text, people=()):
  """Returns answer -> (kind, words that a question leaves out, its words)."""
  (names,) = salient_spans.RulesTagger().tag([text])
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
    # Names: what stands around them tells the kind.
    ('It was cast by Olga Vens.', 'Olga Vens', 'Olga Vens', 'who'),
    ('The poet Olga Vens left.', 'Olga Vens', 'The poet Olga Vens',
     'which poet'),
    ('It was seen in Lendor.', 'Lendor', 'in Lendor', 'where'),
    ('He saw the Lend River.', 'Lend River', 'the Lend River', 'which river'),
    ('He left for Peru.', 'Peru', 'Peru', 'what country'),
    ('He spoke in Swedish.', 'Swedish', 'Swedish', 'what language'),
    # Phrases at the end of a clause.
    ('It has an iron roof.', 'iron roof', 'an iron roof', 'what'),
    ('It is made of baked clay.', 'baked clay', 'baked clay', 'what'),
    ('It has a roof of iron and glass.', 'roof of iron and glass',
     'a roof of iron and glass', 'what'),
    # Lists of names.
    ('He saw Vens and Ohm.', 'Vens and Ohm', 'Vens and Ohm', 'what'),
    ('King Vens, Ohm, and Olga Lind left.', 'King Vens, Ohm, and Olga Lind',
     'King Vens, Ohm, and Olga Lind', 'who'),
    # Reasons, purposes and means.
    ('It fell because of the heavy snow.', 'the heavy snow',
     'because of the heavy snow', 'why'),
    ('It was designed to hold the grain of farms.',
     'to hold the grain of farms', 'to hold the grain of farms', 'why'),
    ('He paid by selling his old mill.', 'selling his old mill',
     'by selling his old mill', 'how'),
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
    ('He saw Vens or Ohm.', 'Vens'),
    ('He saw Vens or Ohm.', 'Ohm'),
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
    (names,) = salient_spans.RulesTagger().tag([text])
    found = sorted(question_spans.find(text, names))
    self.assertGreater(len(found), 3)
    for one, following in zip(found, found[1:]):
      self.assertLessEqual(one.end, following.start)

  def test_a_very_long_sentence_has_none(self):
    self.assertEqual(_find('It burned in 1931 ' + 'and so on ' * 100), {})


class _Rng:
  """Draws the last of several things; `random` is given."""

  def __init__(self, *draws):
    self._draws = list(draws)

  def integers(self, number):
    return number - 1

  def random(self):
    return self._draws.pop(0)


def _ask(text, answer, rng=None, **more):
  (names,) = salient_spans.RulesTagger().tag([text])
  (asked,) = (
    each
    for each in question_spans.find(text, names)
    if text[each.start : each.end] == answer
  )
  rng = rng or _Rng(0.8, 0.0)  # English, and no preposition first.
  return question_wording.ask(text, asked, rng, **more)


class QuestionWordingTest(parameterized.TestCase):
  @parameterized.parameters(
    # The subject.
    ('Olga Vens wrote three plays about bees.', 'Olga Vens',
     'Who wrote three plays about bees?'),
    # After a form of 'be', after 'had', after other verbs.
    ('The mill was moved to a hill in Lendor.', 'Lendor',
     'In what place was the mill moved to a hill?'),
    ('The mill had six wheels of oak.', 'six',
     'How many wheels did the mill have of oak?'),
    ('The mill stopped for good in 1931.', '1931',
     'In what year did the mill stop for good?'),
    ('The old mill became a school in 1931.', '1931',
     'In what year did the old mill become a school?'),
    ('The village contains six old mills.', 'six',
     'How many old mills does the village contain?'),
    # What comes first goes to the end.
    ('In 1931, the mill was moved to a hill.', '1931',
     'In what year was the mill moved to a hill?'),
    ('After the flood, the mill had six wheels.', 'six',
     'How many wheels did the mill have after the flood?'),
    # Only the clause with the answer, with a subject.
    ('It was hot; the mill burned down in 1931, but the barn stood.', '1931',
     'In what year did the mill burn down?'),
    ('He saw the old mill, which was moved to Lendor in 1931.', '1931',
     'In what year was the old mill moved to Lendor?'),
    ('Olga Vens said that the mill burned down in 1931.', '1931',
     'In what year did the mill burn down?'),
    # 'Built' is not the verb; nothing in parentheses is.
    ('The mill (called Ox) built near a lake was moved in 1931.', '1931',
     'In what year was the mill built near a lake moved?'),
  )  # fmt: skip
  def test_a_simple_clause_becomes_english(self, text, answer, question):
    known = {'stop', 'burn', 'move', 'paint'}
    self.assertEqual(_ask(text, answer, known=known), question)

  def test_a_preposition_may_come_first(self):
    found = _ask('The mill was left to Peter Ohm.', 'Peter Ohm', _Rng(0.3, 0.0))
    self.assertEqual(found, 'To whom was the mill left?')

  @parameterized.parameters(
    (0.3, 'In what year with its six wheels the mill burned?'),
    (0.6, 'In what year the mill burned with its six wheels?'),
    (0.9, 'The mill burned in what year with its six wheels?'),
  )
  def test_the_orders_of_a_template(self, draw, question):
    text = 'The mill burned in 1931 with its six wheels.'
    self.assertEqual(_ask(text, '1931', _Rng(0.9, draw)), question)

  def test_a_pronoun_becomes_the_title(self):
    it = 'It was moved to a hill in 1931.'
    he = 'He was moved to a farm in 1931.'
    more = {'title': 'Ox Mill'}
    self.assertEqual(
      _ask(it, '1931', **more), 'In what year was Ox Mill moved to a hill?'
    )
    self.assertEqual(_ask(he, '1931', **more), '')
    self.assertEqual(_ask(it, '1931'), '')
    more = {'title': 'Olga Vens', 'is_person': True}
    self.assertEqual(
      _ask(he, '1931', **more), 'In what year was Olga Vens moved to a farm?'
    )
    self.assertEqual(_ask(it, '1931', **more), '')

  def test_a_question_may_lose_its_last_phrases(self):
    text = (
      'Olga Vens wrote three long plays about bees and wasps for a theatre '
      'with a roof of tin.'
    )
    whole = (
      'Who wrote three long plays about bees and wasps for a theatre with a '
      'roof of tin?'
    )
    found = {
      _ask(text, 'Olga Vens', np.random.default_rng(seed)) for seed in range(99)
    }
    self.assertContainsSubset(
      [whole.replace(' with a roof of tin', ''), whole], found
    )

  def test_too_short_or_too_long(self):
    self.assertEqual(_ask('Olga Vens was ill.', 'Olga Vens'), '')
    text = f'Olga Vens saw {"a bee and " * 15} a wasp.'
    self.assertEqual(_ask(text, 'Olga Vens'), '')

  @parameterized.parameters(
    ('tried', 'try'), ('died', 'die'), ('hoped', 'hope'), ('planned', 'plan'),
    ('called', 'call'), ('passed', 'pass'), ('visited', 'visit'),
  )  # fmt: skip
  def test_the_base_of_a_verb(self, past, base):
    known = {'hop', 'hope', 'plan', 'call', 'pass', 'visit', 'try'}
    question = _ask(
      f'The old miller {past} again in 1931.', '1931', known=known
    )
    self.assertEqual(question, f'In what year did the old miller {base} again?')


if __name__ == '__main__':
  absltest.main()
