"""Tests for realm_tf.world: generation, writing, asking, city_facts."""

import dataclasses
import hashlib
import os
import re
import subprocess
import sys

from absl.testing import absltest

from realm_tf import config as config_lib
from realm_tf.corpus import writers
from realm_tf.world import asking
from realm_tf.world import gazetteer
from realm_tf.world import generation
from tests import tiny

_CONFIG = config_lib.WorldConfig(
  seed=3,
  num_cities=150,
  max_cities_per_country=10,
  num_train_questions=600,
  num_dev_questions=40,
  num_test_questions=80,
)

_ALL_FACTS = dataclasses.replace(_CONFIG, num_sampled_facts=99)


class WorldTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.world = generation.generate(_CONFIG)
    cls.texts = {a.article_id: a.text for a in cls.world.articles}

  def test_has_an_article_per_entity(self):
    self.assertLen(self.world.articles, 250 + 150)
    self.assertLen(self.texts, 250 + 150)
    names = [gazetteer.fold(a.title) for a in self.world.articles]
    self.assertLen(set(names), len(names))

  def test_an_article_states_common_facts_and_some_of_the_others(self):
    chosen = set()
    for entity, known in zip(self.world.entities, self.world.known):
      self.assertEqual(entity.article_id, known.article_id)
      self.assertEqual(  # The order does not change.
        entity.facts, tuple(f for f in known.facts if f in entity.facts)
      )
      stated = {fact.relation for fact in entity.facts}
      others = {fact.relation for fact in known.facts} - gazetteer.COMMON
      self.assertLen(stated & others, min(3, len(others)))
      self.assertEmpty(
        {fact.relation for fact in known.facts} - others - stated
      )
      chosen.add(tuple(sorted(stated & others)))
    self.assertGreater(len(chosen), 100)

  def test_the_common_facts_are_known_of_nearly_every_entity(self):
    stated = [
      (entity.kind, fact.relation)
      for entity in self.world.entities
      for fact in entity.facts
    ]
    # Antarctica has no capital, and an island has no neighbours.
    for relation in gazetteer.COMMON - {'country', 'timezone', 'neighbours'}:
      self.assertGreater(stated.count(('country', relation)), 240, relation)
    for relation in ('country', 'population', 'timezone'):
      self.assertEqual(stated.count(('city', relation)), 150, relation)

  def test_every_answer_occurs_in_the_article(self):
    for questions in self.world.questions.values():
      for question in questions:
        for answer in question.answers:
          self.assertIn(answer, self.texts[question.gold_id])

  def test_splits_have_their_sizes_and_share_no_entity(self):
    questions = self.world.questions
    self.assertEqual(
      {split: len(q) for split, q in questions.items()},
      {'train': 600, 'dev': 40, 'test': 80},
    )
    asked = [
      {q.gold_id for q in questions[split]}
      for split in ('train', 'dev', 'test')
    ]
    self.assertLen(set.union(*asked), sum(map(len, asked)))

  def test_questions_are_spread_evenly(self):
    per_entity, per_relation = {}, {}
    for question in self.world.questions['test']:
      relation = question.question_id.rsplit('/', 1)[1]
      per_entity.setdefault(question.gold_id, set()).add(relation)
      per_relation.setdefault(relation, []).append(question)
    # 20 % of 250 and 15 % of 150 are 50 + 22 entities for 80 questions.
    self.assertGreater(len(per_entity), 30)
    self.assertGreater(len(per_relation), 20)
    for relation in ('capital', 'currency', 'continent', 'languages'):
      self.assertGreaterEqual(len(per_relation[relation]), 2, relation)
    self.assertLessEqual(max(map(len, per_relation.values())), 6)

  def test_training_asks_common_facts_about_countries_in_many_forms(self):
    asked = {}
    for question in self.world.questions['train']:
      asked.setdefault(question.question_id, []).append(question.question)
    repeated = [q for q in asked.values() if len(q) > 1]
    self.assertGreater(len(repeated), 5)
    different = sum(len(set(questions)) > 1 for questions in repeated)
    self.assertGreater(different, 0.9 * len(repeated))

  def test_articles_state_every_fact_in_both_paragraphs(self):
    for entity in self.world.entities:
      paragraphs = self.texts[entity.article_id].split('\n\n')
      self.assertLen(paragraphs, 2)
      for fact in entity.facts:
        for value in fact.values:
          for paragraph in paragraphs:
            self.assertIn(value, paragraph)

  def test_sentences_of_x_occur_nowhere_else(self):
    articles = '\n'.join(self.texts.values())
    questions = {
      q.question
      for questions in self.world.questions.values()
      for q in questions
    }
    for sentence in self.world.sentences:
      self.assertNotIn(sentence.text, articles)
      for part in re.split(r'(?<=[?.]) ', sentence.text):
        self.assertNotIn(part, questions)

  def test_spans_of_x_are_values_and_x_covers_all_facts(self):
    values = {
      (e.article_id, v)
      for e in self.world.entities
      for f in e.facts
      for v in f.values
    }
    for text, spans, article_id, _ in self.world.sentences:
      self.assertNotEmpty(spans)
      for start, end in spans:
        self.assertIn((article_id, text[start:end]), values)
    num_facts = sum(len(e.facts) for e in self.world.entities)
    self.assertBetween(len(self.world.sentences), num_facts, 2 * num_facts)
    self.assertEqual(
      {s.article_id for s in self.world.sentences}, set(self.texts)
    )

  def test_another_process_generates_the_same_world(self):
    # Another process hashes strings with another seed.
    program = (
      'import hashlib; from realm_tf import config;'
      'from realm_tf.world import generation;'
      f'w = generation.generate(config.{_CONFIG!r});'
      'print(hashlib.sha256(repr(w).encode()).hexdigest())'
    )
    digest = subprocess.run(
      [sys.executable, '-c', program],
      check=True,
      text=True,
      stdout=subprocess.PIPE,
      stderr=subprocess.DEVNULL,
      env=dict(os.environ, PYTHONHASHSEED='1'),
    ).stdout.strip()
    self.assertEqual(
      digest, hashlib.sha256(repr(self.world).encode()).hexdigest()
    )

  def test_another_seed_gives_another_world(self):
    other = generation.generate(
      config_lib.WorldConfig(seed=4, num_cities=5, num_test_questions=10)
    )
    self.assertNotEqual(other.articles[0].text, self.world.articles[0].text)

  def test_writes_questions_as_jsonl(self):
    path = self.create_tempfile().full_path
    questions = self.world.questions['dev']
    writers.write_questions(questions, path)
    rows = tiny.read_rows(path)
    self.assertLen(rows, 40)
    self.assertEqual(
      rows[0],
      {
        'question': questions[0].question,
        'answers': list(questions[0].answers),
        'id': questions[0].question_id,
        'gold_id': questions[0].gold_id,
      },
    )

  def test_asking_again_keeps_the_facts_and_changes_the_words(self):
    arguments = self.world.questions, self.world.entities
    asked, again, other = (
      asking.ask_again(*arguments, seed) for seed in (3, 3, 4)
    )
    self.assertEqual(asked, again)
    self.assertNotEqual(asked, other)
    self.assertEqual(
      {split: len(questions) for split, questions in asked.items()},
      {
        'reworded_dev': 40,
        'reworded_test': 80,
        'unseen_dev': 40,
        'unseen_test': 80,
      },
    )
    for split, questions in asked.items():
      before = self.world.questions[split.partition('_')[2]]
      for first, second in zip(before, questions, strict=True):
        self.assertEqual(first._replace(question=second.question), second)
        self.assertNotEqual(first.question, second.question)

  def test_articles_and_x_use_aliases_too(self):
    (row,) = (
      i for i, e in enumerate(self.world.entities) if e.name == 'United Kingdom'
    )
    entity = self.world.entities[row]
    article = self.world.articles[row].text
    self.assertIn('United Kingdom', article)
    self.assertTrue(any(f' {alias}' in article for alias in entity.aliases))
    names = [
      gazetteer.fold(name)
      for entity in self.world.entities
      for name in {entity.name, *entity.aliases}
    ]
    self.assertLen(set(names), len(names))  # Nobody shares an alias.


class FactsTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.world = generation.generate(_ALL_FACTS)
    cls.facts = {
      (e.name, f.relation): f.values
      for e in cls.world.entities
      for f in e.facts
    }

  def test_knows_common_facts(self):
    for name, relation, value in (
      ('France', 'capital', 'Paris'),
      ('France', 'currency', 'Euro'),
      ('France', 'domain', '.fr'),
      ('France', 'phone_code', '+33'),
      ('France', 'iso_code', 'FRA'),
      ('France', 'continent', 'Europe'),
      ('Istanbul', 'country', 'Turkey'),
      ('Istanbul', 'rank', '1'),
      ('Istanbul', 'direction', 'west'),
      ('Lagos', 'next_larger', None),
    ):
      expected = None if value is None else (value,)
      self.assertEqual(
        self.facts.get((name, relation)), expected, (name, relation)
      )

  def test_lists_have_all_their_values(self):
    self.assertEqual(self.facts['Portugal', 'neighbours'], ('Spain',))
    self.assertEqual(
      self.facts['Belgium', 'languages'], ('Dutch', 'French', 'German')
    )

  def test_no_city_is_named_like_a_country_or_spelled_oddly(self):
    self.assertNotIn(('Singapore', 'nearest_city'), self.facts)
    self.assertFalse(gazetteer.is_usable_name('Sector 4'))
    self.assertFalse(gazetteer.is_usable_name('北京'))
    self.assertTrue(gazetteer.is_usable_name("Saint-Jean d'Été"))


class ChangeFactTest(absltest.TestCase):
  def test_changes_every_statement_and_nothing_else(self):
    original = generation.generate(_ALL_FACTS)
    changed = generation.change_asked_fact(original, 'country/FR/currency')
    # Gabon is the next country with another currency.
    self.assertEqual(changed[1:], ('Euro', ('Franc',)))
    [(before, after)] = [
      (a, b) for a, b in zip(original.articles, changed.articles) if a != b
    ]
    self.assertEqual(before.title, 'France')
    self.assertEqual(before.text.count('Euro.') + before.text.count('Euro '), 2)
    self.assertEqual(re.sub(r'\bEuro\b', 'Franc', before.text), after.text)
    areas = generation.change_asked_fact(
      original, 'country/FR/area'
    ).new_answers
    self.assertEqual(areas, (areas[0], f'{areas[0]} square kilometres'))


if __name__ == '__main__':
  absltest.main()
