"""Tests for realm_tf.data.surveying."""

from absl.testing import absltest

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.data import surveying


def _look(articles, **options):
  return surveying.look(
    articles, lambda texts: salient_spans.RulesTagger(), **options
  )


def _article(number, text, title=''):
  return sources.Article(title, text, str(number))


def _question(number, gold_id='', title=''):
  return questions_lib.Question(
    f'question {number}?', ('yes',), gold_id=gold_id, title=title
  )


class LookTest(absltest.TestCase):
  def test_counts_articles_words_and_sentences_with_names(self):
    articles = [
      # Six and five words; the name Ada Lund is in the third article, too.
      _article(0, 'The builder was called Ada Lund. Nobody knows much of it.'),
      _article(1, 'Some lamps burn all night here.'),
      _article(2, 'The second tower is by Ada Lund. Its keeper is Jon Brandt.'),
    ]
    found, names = _look(articles, ids={'2', '7'})
    self.assertEqual(found['num_articles'], 3)
    self.assertEqual(found['num_words'], 11 + 6 + 12)
    self.assertEqual(found['long_article'], 12)
    # 29 words and 5 full stops, 1.12 wordpieces each: 38.08; no title.
    self.assertEqual((found['num_pieces'], found['title_pieces']), (38, 0))
    self.assertEqual(found['num_sentences'], 3)
    self.assertEqual(found['num_recurring'], 2)
    self.assertEqual(names, {'2': '2'})

  def test_headings_and_short_sentences_do_not_count(self):
    found, _ = _look([_article(0, 'A heading about Ada Lund\nBy Ada Lund.')])
    self.assertEqual(found['num_sentences'], 0)

  def test_articles_of_one_title_have_one_name(self):
    articles = [_article(i, 'Text.', title='Same') for i in range(9)]
    found, names = _look(articles, ids={'3'})
    # One name is too few to hold one out.
    self.assertEqual((found['num_articles'], found['held_out_share']), (9, 0))
    self.assertEqual(names, {'3': 'Same'})

  def test_no_article_is_a_mistake(self):
    with self.assertRaisesRegex(errors.UserError, 'Found none'):
      _look([])

  def test_a_sample_stands_for_all_articles(self):
    articles = (_article(i, 'one two three') for i in range(4000))
    found, _ = _look(articles)
    self.assertEqual(found['num_words'], 12_000)


class SplitTest(absltest.TestCase):
  def test_all_questions_of_an_article_are_on_one_side(self):
    questions = [_question(i, gold_id=str(i % 30)) for i in range(300)]
    names = {str(i): f'title {i // 2}' for i in range(30)}  # 15 titles.
    trained, measured = surveying.split(questions, names)
    sides = [
      {names[question.gold_id] for question in side}
      for side in (trained, measured)
    ]
    self.assertEmpty(sides[0] & sides[1])
    self.assertEqual([len(side) for side in sides], [12, 3])
    self.assertLen(trained + measured, 300)

  def test_a_title_names_the_article_of_a_question_without_an_id(self):
    questions = [_question(i, title=f'title {i % 10}') for i in range(100)]
    _, measured = surveying.split(questions, {})
    self.assertLen({question.title for question in measured}, 3)
    self.assertLen(measured, 30)

  def test_other_questions_are_decided_singly(self):
    trained, measured = surveying.split([_question(i) for i in range(100)], {})
    self.assertEqual([len(trained), len(measured)], [90, 10])


if __name__ == '__main__':
  absltest.main()
