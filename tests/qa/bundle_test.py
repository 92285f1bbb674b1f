"""Tests for realm_tf.qa.bundle and the HTML of answers."""

import json
import os
from unittest import mock

from absl.testing import absltest

import realm_tf
from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.qa import answer as answer_lib
from tests import tiny
from tests.serving import small_models

_ARTICLES = (
  sources.Article('a', 'A b. C d.', 'first'),
  sources.Article('日本', 'B d. 日本 D f. E a.', 'second'),
)


class BundleTest(absltest.TestCase):
  def test_answers_from_the_corpus_next_to_the_model(self):
    model_dir, _ = small_models.write_all(self.create_tempdir().full_path)
    realm = realm_tf.load(model_dir, num_read=3)
    answer = realm.ask('a b ?')
    self.assertEqual([answer], realm.answer(['a b ?']))
    self.assertLen(answer.evidence, 3)
    self.assertIn(answer.evidence[0].title, answer._repr_html_())
    # One text is one question, and an iterator gives several.
    self.assertEqual([answer], realm.answer('a b ?'))
    self.assertEqual([answer], realm.answer(iter(['a b ?'])))
    for wrong in (
      lambda: realm.answer([None]),
      lambda: realm.answer(None),
      lambda: realm.search(None),
      lambda: realm.complete(None),
    ):
      with self.assertRaisesRegex(errors.UserError, 'be texts. Found None'):
        wrong()
    with self.assertRaisesRegex(errors.UserError, '1 or more. Found -1'):
      realm.search('a', k=-1)
    with self.assertRaisesRegex(errors.UserError, "1 or more. Found '2'"):
      realm.answer(['a'], top_k='2')
    with mock.patch.object(os, 'getpid', lambda: 0):  # As in a fork.
      with self.assertRaisesRegex(errors.UserError, "by .*'spawn'"):
        realm.ask('a')
      with self.assertRaisesRegex(errors.UserError, "by .*'spawn'"):
        realm_tf.load(realm.model_dir)
    number = realm.answerer.table.num_blocks
    self.assertLen(realm.search('a', k=10**6), number)

  def test_opens_what_realm_json_names(self):
    run_dir = self.create_tempdir().full_path
    corpus_dir = tiny.write_corpus(run_dir, _ARTICLES)
    model_dir = os.path.join(run_dir, 'model')
    small_models.write(model_dir, corpus_dir, small_models.PRETRAINED)
    names = {'model_dir': 'model', 'corpus_dir': 'corpus', 'sparse_weight': 1e6}
    with open(os.path.join(run_dir, 'realm.json'), 'w') as file:
      json.dump(names, file)
    realm = realm_tf.load(run_dir)
    # BM25's scores decide, and only one block has the word.
    found = realm.search('日本', k=2)
    self.assertEqual(found[0].title, '日本')
    self.assertLen(found, 2)
    self.assertGreater(found[0].score, found[1].score)
    self.assertLen(realm.complete('a [MASK]')['with_retrieval'], 1)
    # A given search replaces the sum with BM25.
    given = realm_tf.load(run_dir, retriever='bm25').search('日本', k=2)
    self.assertLess(given[0].score, 100)
    with self.assertRaisesRegex(errors.UserError, 'that reads answers'):
      realm.ask('a')

  def test_a_wrong_realm_json_and_a_missing_corpus_are_user_errors(self):
    run_dir = self.create_tempdir()
    run_dir.create_file('realm.json', '{"model_dir": 3}')
    with self.assertRaisesRegex(errors.UserError, 'realm.json .*model_dir'):
      realm_tf.load(run_dir.full_path)
    with self.assertRaisesRegex(errors.UserError, 'Give corpus_dir'):
      realm_tf.load(self.create_tempdir().full_path)


class NotebookTest(absltest.TestCase):
  def test_marks_the_span_escapes_everything_and_shows_a_missing_answer(self):
    text = 'x' * 500 + ' <script>1</script> & <i>the U.S.</i>'
    start = text.index('<i>')
    evidence = answer_lib.Evidence(
      0, 'A "<b>"', text, start, len(text), text[start:], 0.25, 1.0, ''
    )
    html = answer_lib.Answer(
      '</div><img>', '<i>the U.S.</i>', 1.0, [evidence], 0.5, 0.1
    )._repr_html_()
    for tag in ('<script', '<i>', '<img', '</div><img'):
      self.assertNotIn(tag, html)
    self.assertIn('>&lt;i&gt;the U.S.&lt;/i&gt;</mark>', html)
    self.assertIn('width:25.0%', html)
    self.assertIn('50.0%', html)
    self.assertLess(html.count('x'), 300)
    html = answer_lib.Answer('a', '', None, [])._repr_html_()
    self.assertIn('(no answer found)', html)


if __name__ == '__main__':
  absltest.main()
