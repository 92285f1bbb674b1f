"""Tests for realm_tf.world.missing and realm_tf.world.foreign."""

import collections
import re

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import config as config_lib
from realm_tf.corpus import writers
from realm_tf.world import asking
from realm_tf.world import foreign
from realm_tf.world import gazetteer
from realm_tf.world import generation
from realm_tf.world import missing
from realm_tf.world import templates
from tests import tiny

_CONFIG = config_lib.WorldConfig(
  seed=3,
  num_cities=150,
  max_cities_per_country=10,
  num_train_impossible=300,
  num_dev_impossible=40,
  num_test_impossible=80,
)


class MissingTest(parameterized.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.world = generation.generate(_CONFIG)
    cls.missing = missing.ask_splits(cls.world)
    cls.foreign = foreign.ask_splits(cls.world)
    cls.entities = {e.article_id: e for e in cls.world.entities}
    cls.known = {e.article_id: e for e in cls.world.known}

  def test_each_kind_has_its_sizes_and_no_answers(self):
    for questions in (self.missing, self.foreign):
      sizes = {
        split.partition('_')[2]: len(q) for split, q in questions.items()
      }
      self.assertEqual(sizes, {'train': 300, 'dev': 40, 'test': 80})
      for question in (q for split in questions.values() for q in split):
        self.assertEmpty(question.answers)
        self.assertNotRegex(question.question, r'[{}]|  |\bthe the\b|^.{0,5}$')

  def test_generating_again_gives_the_same_questions(self):
    self.assertEqual(missing.ask_splits(self.world), self.missing)
    self.assertEqual(foreign.ask_splits(self.world), self.foreign)

  def test_no_article_states_a_missing_fact(self):
    num_known = 0
    for question in (q for split in self.missing.values() for q in split):
      article_id, relation = question.question_id.rsplit('/', 1)
      self.assertEqual(question.gold_id, article_id)
      self.assertEmpty(self.entities[article_id].values(relation))
      values = self.known[article_id].values(relation)
      num_known += bool(values)
      for value in values:
        pattern = rf'(?<!\w){re.escape(value)}(?!\w)'
        for text in self._sentences_about(self.known[article_id]):
          self.assertNotRegex(text, pattern, question.question_id)
    self.assertGreater(num_known, 100)

  def _sentences_about(self, entity):
    """Yields the sentences of its article, and others that name it."""
    pattern = rf'(?<![\w/]){re.escape(entity.name)}(?!\w)'
    for text, _, article_id, *_ in self.world.statements:
      # "United States" is a part of another country's name.
      is_named = entity.name not in self.entities[article_id].name
      if article_id == entity.article_id or (
        is_named and re.search(pattern, text)
      ):
        yield text

  def test_missing_facts_are_about_the_splits_own_entities(self):
    splits = asking.split_entities(self.world.entities, _CONFIG.seed)
    for split, entities in splits.items():
      self.assertContainsSubset(
        {q.gold_id for q in self.missing[f'missing_{split}']},
        {entity.article_id for entity in entities},
      )

  def test_missing_facts_are_spread_over_relations(self):
    asked = collections.Counter(
      q.question_id.rsplit('/', 1)[1] for q in self.missing['missing_train']
    )
    self.assertGreater(len(asked), 20)
    self.assertLess(max(asked.values()), 40)
    self.assertIn('president', {*missing_names('train')})
    # Each asker has other relations that no article states.
    for split in ('train', 'test'):
      names = {*missing_names(split)}
      found = {
        q.question_id.rsplit('/', 1)[1]
        for q in self.missing[f'missing_{split}']
      }
      self.assertGreater(len(found & names) / len(names), 0.5)

  def test_splits_share_no_relation_that_is_in_no_article(self):
    names = [
      name for of in ('train', 'dev', 'test') for name in missing_names(of)
    ]
    self.assertLen(set(names), len(names))
    self.assertNoCommonElements(
      names, [relation for _, relation in templates.all_wordings()]
    )

  def test_splits_share_no_other_subject_and_no_question(self):
    sections = [
      (*header[1:], *section.others)
      for header, section in missing.outside().items()
      if 'subject' in header
    ]
    flat = [
      text for section in sections for text in section if text != 'subject'
    ]
    self.assertLen(set(flat), len(flat))

  def test_no_article_names_the_other_places(self):
    text = ' '.join(gazetteer.fold(a.text) for a in self.world.articles)
    for split in ('train', 'dev', 'test'):
      absent = self._absent(split)
      self.assertGreater(
        len(absent), 0.4 * len(self.foreign[f'foreign_{split}'])
      )
      for question in absent:
        asked = question.split()
        words = [w for w in asked if w[0].isupper()]
        if words[:2] != asked[:2]:  # No name of two words comes first.
          words = words[1:]
        name = gazetteer.fold(' '.join(words))
        self.assertNotIn(f' {name} ', f' {text} ' if words else '', question)

  def _absent(self, split):
    return [
      q.question
      for q in self.foreign[f'foreign_{split}']
      if q.question_id.startswith('absent/')
    ]

  def test_the_file_says_that_they_have_no_answer(self):
    path = self.create_tempfile().full_path
    writers.write_questions(self.missing['missing_dev'][:1], path)
    question = self.missing['missing_dev'][0]
    self.assertEqual(
      tiny.read_rows(path),
      [
        {
          'question': question.question,
          'answers': [],
          'is_impossible': True,
          'id': question.question_id,
          'gold_id': question.gold_id,
        }
      ],
    )


def missing_names(split):
  return [name for of, _, name in missing.outside_relations() if of == split]


if __name__ == '__main__':
  absltest.main()
