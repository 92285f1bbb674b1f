"""Tests for realm_tf.world.two_hops."""

import collections
import re

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf.world import asking
from realm_tf.world import generation
from realm_tf.world import templates
from realm_tf.world import two_hops

_CONFIG = config_lib.WorldConfig(
  seed=3,
  num_cities=300,
  max_cities_per_country=10,
  num_sampled_facts=99,
  num_train_questions=400,
  num_dev_questions=0,
  num_test_questions=40,
)


class TwoHopsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.world = generation.generate(_CONFIG)
    cls.before = repr(cls.world)
    cls.questions = two_hops.ask_splits(cls.world)
    cls.entities = {e.article_id: e for e in cls.world.entities}
    cls.texts = {a.article_id: a.text for a in cls.world.articles}

  def _all(self):
    """Yields (split, question, named entity, first fact, second entity)."""
    for split, questions in self.questions.items():
      for question in questions:
        named, first, _ = question.question_id.rsplit('/', 2)
        entity = self.entities[named]
        (fact,) = (f for f in entity.facts if f.relation == first)
        yield split, question, entity, fact, self.entities[question.gold_id]

  def test_asking_again_gives_the_same_questions_and_keeps_the_world(self):
    self.assertEqual(repr(self.world), self.before)
    self.assertEqual(two_hops.ask_splits(self.world), self.questions)

  def test_splits_have_their_sizes(self):
    numbers = {split: len(q) for split, q in self.questions.items()}
    self.assertEqual(
      numbers, {'two_hop_train': 400, 'two_hop_dev': 0, 'two_hop_test': 40}
    )
    ids = [question.question_id for _, question, *_ in self._all()]
    self.assertLen(set(ids), 440)

  def test_the_first_fact_leads_to_the_article_of_the_answer(self):
    for _, question, entity, fact, other in self._all():
      self.assertEqual(fact.values, (other.name,))
      self.assertIn(other.name, self.texts[entity.article_id])
      self.assertIn(entity.name, question.question)
      for answer in question.answers:
        self.assertIn(answer, self.texts[other.article_id])
        self.assertNotIn(answer, self.texts[entity.article_id])

  def test_both_entities_are_in_the_split(self):
    splits = asking.split_entities(self.world.entities, _CONFIG.seed)
    ids = {s: {e.article_id for e in members} for s, members in splits.items()}
    for split, _, entity, _, other in self._all():
      allowed = ids[split.removeprefix(two_hops.PREFIX)]
      self.assertIn(entity.article_id, allowed)
      self.assertIn(other.article_id, allowed)

  def test_kinds_of_questions_are_mixed(self):
    pairs = collections.Counter(
      question.question_id.split('/', 2)[2]
      for question in self.questions['two_hop_train']
    )
    self.assertGreater(len(pairs), 40)
    self.assertLess(max(pairs.values()), 40)

  def test_questions_are_complete_sentences(self):
    for _, question, *_ in self._all():
      self.assertNotRegex(question.question, r'[{}]|\bthe the\b')
      self.assertRegex(question.question, '^[A-Z]')

  def test_bridges_name_the_entity_once_and_no_value(self):
    bridges = [
      bridge
      for wordings in templates.all_wordings().values()
      for bridge in wordings.bridges
    ]
    self.assertLen(bridges, 16)
    for bridge in bridges:
      self.assertEqual(re.findall(r'\{.\}', bridge), ['{e}'])
      self.assertStartsWith(bridge, 'the ')


if __name__ == '__main__':
  absltest.main()
