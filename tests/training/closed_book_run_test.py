"""Tests for realm_tf.training.closed_book_trainer."""

import os
import tempfile

from absl.testing import absltest
import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.qa import loading
from realm_tf.qa import open_qa
from realm_tf.run import layout
from realm_tf.training import closed_book_trainer
from realm_tf.training import job
from tests import tiny
from tests.training import killed

_MASK, _END = tiny.TOKENIZER.mask_id, tiny.SPECIAL_IDS[1]
_QUESTIONS = [
  questions_lib.Question('a b', ('c d', 'e')),
  questions_lib.Question('d e', ('f',)),
  questions_lib.Question('c c', ('A b.',)),
]


def _ids(text):
  return tiny.TOKENIZER.tokenize(text).ids.tolist()


def _config(num_steps=120):
  network = config_lib.Seq2SeqConfig(
    hidden_size=16, head_size=8, num_layers=1, num_heads=2, intermediate_size=16
  )
  return tiny.config(
    model={'seq2seq': network},
    closed_book=config_lib.ClosedBookConfig(
      optimizer=config_lib.OptimizerConfig(1e-2, num_steps, warmup_steps=5),
      batch_size=3,
      input_tokens=6,
      answer_tokens=4,
      checkpoint_every_steps=killed.CHECKPOINT_EVERY,
      log_every_steps=1,
    ),
  )


class ClosedBookRunTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.directory = cls.enter_context(tempfile.TemporaryDirectory())
    cls.corpus_dir = tiny.write_corpus(cls.directory)
    cls.run_dir, cls.rows = cls._train('run', _QUESTIONS)
    cls.book = loading.load_closed_book(cls.run_dir, cls.corpus_dir)

  @classmethod
  def _train(cls, name, examples, init_from=None, resume=False, **config):
    inputs = job.open_inputs(_config(**config), cls.corpus_dir)
    run_dir = os.path.join(cls.directory, name)
    run = job.Job(run_dir, job.InitFrom(init_from), resume=resume)
    closed_book_trainer.run(inputs, examples, run)
    return run_dir, tiny.read_rows(layout.metrics_file(run_dir))

  def test_a_span_becomes_one_mask_and_the_output(self):
    directory = self.create_tempdir().full_path
    table = tiny.open_queries(directory, [('A b c d e f.', [(1, 3)], 0)] * 2)
    config = _config()
    pairs = closed_book_trainer.of_queries(table, config.closed_book, _MASK)
    batch = next(closed_book_trainer.batches(pairs, _END, experiment=config))
    # 6 wordpieces are kept, and two of them become one mask; then the end.
    kept = _ids('A b c d e f')
    expected = [kept[0], _MASK, *kept[3:], _END]
    self.assertEqual(batch['input_ids'].tolist(), [expected] * 3)
    target = [*_ids('b c'), _END, 0]
    self.assertEqual(batch['target_ids'].tolist(), [target] * 3)

  def test_a_question_has_its_first_answer(self):
    config = _config()
    pairs = closed_book_trainer.of_questions(
      [*_QUESTIONS, questions_lib.Question('d', ('x.*',), regex=True)],
      tiny.TOKENIZER,
      config.closed_book,
    )
    self.assertEqual(pairs.number, 3)  # A model cannot write a pattern.
    batch = next(closed_book_trainer.batches(pairs, _END, experiment=config))
    answers = {
      tuple(inputs[inputs > 0][:-1]): targets[targets > 0].tolist()
      for inputs, targets in zip(batch['input_ids'], batch['target_ids'])
    }
    for question, answer in ('a b', 'c d'), ('d e', 'f'), ('c c', 'A b.'):
      self.assertEqual(answers[tuple(_ids(question))], [*_ids(answer), _END])

  def test_answers_the_questions_of_training(self):
    self.assertEqual(self.rows[-1]['answers_right'], 100.0)
    found = self.book.answer([question.question for question in _QUESTIONS])
    texts = [answer.prediction for answer in found]
    self.assertEqual(texts, ['c d', 'f', 'a b .'])
    # The mean over 3 + 2 + 4 wordpieces is the loss after the last step.
    total = sum(answer.score for answer in found)
    self.assertLess(abs(-total / 9 - self.rows[-1]['loss']), 0.05)
    for answer in found:
      self.assertEmpty(answer.evidence)
      self.assertAlmostEqual(answer.probability, np.exp(answer.score), 5)

  def test_it_is_evaluated_without_recall(self):
    (system,) = open_qa.systems('none', self.book.table, [self.book], 0)
    metrics = system.run(_QUESTIONS, [1, 5], f'{self.directory}/evaluation')
    self.assertEqual(metrics['exact_match'], 100.0)
    self.assertFalse([name for name in metrics if 'recall' in name])

  def test_spans_first_then_questions(self):
    table = tiny.open_queries(
      self.directory, [('A b c d e f.', [(1, 3)], -1), ('C d.', [(0, 1)], -1)]
    )
    table.manifest['vocabulary_sha256'] = tiny.TOKENIZER.vocabulary_sha256
    with tiny.eagerly():
      first, rows = self._train('first', table, num_steps=4)
      _, warm = self._train('warm', _QUESTIONS, init_from=first, num_steps=1)
    self.assertLess(rows[-1]['loss'], rows[0]['loss'])
    self.assertNotEqual(warm[0]['loss'], self.rows[0]['loss'])

  def test_a_resumed_run_equals_an_uninterrupted_run(self):
    options = {'num_steps': killed.STEPS}
    killed.check_resume(
      self,
      closed_book_trainer.ClosedBookTrainer,
      lambda name, resume: self._train(
        name, _QUESTIONS, resume=resume, **options
      )[0],
    )

  def test_questions_without_answers_are_a_mistake(self):
    question = questions_lib.Question('a', ('b',), regex=True)
    with self.assertRaisesRegex(errors.UserError, 'with an answer'):
      self._train('none', [question])
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'none')))


if __name__ == '__main__':
  absltest.main()
