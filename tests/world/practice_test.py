"""Tests for realm_tf.world.practice."""

import dataclasses

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.world import asking
from realm_tf.world import foreign
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import practice

_CONFIG = config_lib.WorldConfig(
  seed=3, num_cities=150, num_train_questions=600, num_invented=60
)


class PracticeTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.world = generation.generate(_CONFIG)
    cls.invented, cls.questions = practice.practise(cls.world)

  def test_invented_articles_are_of_no_entity_of_the_world(self):
    self.assertLen(self.invented, 60)
    ids = {entity.article_id for entity in self.world.known}
    self.assertNoCommonElements(ids, {a.article_id for a in self.invented})
    again = practice.practise(self.world)
    self.assertEqual(again, (self.invented, self.questions))

  def test_names_are_of_no_entity_and_of_no_question_of_another_world(self):
    names = {gazetteer.fold(article.title) for article in self.invented}
    self.assertLen(names, 60)
    entities = {gazetteer.fold(e.name) for e in self.world.known}
    self.assertEmpty(names & entities)
    asked = foreign.ask_splits(self.world)
    for question in asked['foreign_dev'] + asked['foreign_test']:
      words = f' {gazetteer.fold(question.question)} '
      self.assertFalse([name for name in names if f' {name} ' in words])

  def test_half_of_the_questions_about_countries_are_about_invented_ones(self):
    texts = {article.article_id: article.text for article in self.invented}
    num_invented = num_countries = 0
    for before, after in zip(
      self.world.questions['train'], self.questions, strict=True
    ):
      num_countries += before.question_id.startswith('country/')
      if after.gold_id not in texts:
        self.assertEqual(after, before)
        continue
      num_invented += 1
      relation = before.question_id.rsplit('/', 1)[1]
      self.assertEqual(after.question_id, f'{after.gold_id}/{relation}')
      self.assertTrue(any(a in texts[after.gold_id] for a in after.answers))
    half = (num_countries + 1) // 2
    self.assertBetween(num_invented, half - 5, half)

  def test_there_must_be_enough_names(self):
    for number in (-1, 100_000):
      config = dataclasses.replace(_CONFIG, num_invented=number)
      with self.assertRaisesRegex(errors.UserError, f'Found {number}'):
        practice.practise(self.world._replace(config=config))

  def test_values_are_of_training_countries_and_name_each_city_once(self):
    splits = asking.split_entities(self.world.known, _CONFIG.seed)
    known = {v for e in splits['train'] for v in e.values('currency')}
    for country in practice.invent(self.world):
      self.assertContainsSubset(country.values('currency'), known)
      cities = [
        country.values(relation)
        for relation in ('capital', 'largest_city', 'second_city')
      ]
      stated = [values for values in cities if values]
      self.assertLen(set(stated), len(stated))


if __name__ == '__main__':
  absltest.main()
