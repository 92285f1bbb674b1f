"""Tests for realm_tf.answering.bundle and the HTML of answers."""

import os

from absl.testing import absltest

from realm_tf import errors
from realm_tf.answering import answer as answer_lib
from realm_tf.answering import bundle
from realm_tf.modeling import realm_model
from tests.serving import models


class BundleTest(absltest.TestCase):
  def _model(self, *parts):
    directory = self.create_tempdir().full_path
    corpus = models.write_corpus(directory)
    path = os.path.join(directory, 'model')
    return models.write_model(path, corpus, models.config(), parts), corpus

  def test_answers_one_question(self):
    paths = self._model(realm_model.EMBEDDER, realm_model.SPAN)
    realm = bundle.load(*paths, num_read=3)
    answer = realm.ask(models.QUESTIONS[0])
    self.assertEqual([answer], realm.answer(models.QUESTIONS[:1]))
    self.assertLen(answer.evidence, 3)
    self.assertIn(answer.evidence[0].title, answer._repr_html_())

  def test_a_model_without_a_reader_is_a_user_error(self):
    paths = self._model(realm_model.EMBEDDER)
    with self.assertRaisesRegex(errors.UserError, 'that reads answers'):
      bundle.load(*paths)


class NotebookTest(absltest.TestCase):
  def test_marks_the_span_and_escapes_everything(self):
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
    self.assertIn('50.0% if a block read has the answer, 10.0%', html)
    self.assertLess(html.count('x'), 300)

  def test_shows_a_missing_answer(self):
    html = answer_lib.Answer('a', '', None, [])._repr_html_()
    self.assertIn('(no answer found)', html)


if __name__ == '__main__':
  absltest.main()
