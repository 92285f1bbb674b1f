"""Runs every step of a REALM from the command line, with two crashes.

  articles -> corpus, queries -> warm start -> pretrain and refresh
  -> finetune -> evaluate, answer

The refresher is killed while it writes an index, the trainer after its first
checkpoint. Both must continue after a restart.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from absl.testing import absltest

from realm_tf import errors
from realm_tf.run import layout
from realm_tf.run import versions
from tests import forks
from tests import source_tree

_CONFIG = '--config=tests/testdata/end_to_end_launch.py'
_NUM_STEPS = 30  # As in the config.
_NUM_COUNTRIES = 250  # The first articles.
_NUM_QUESTIONS = {'train': 50, 'dev': 10, 'test': 10}
_TIMEOUT_SECS = 300.0  # A job takes about 10 on two free cores.
# A folder for each weight, and for each file of questions.
_EVALUATION = 'test/sparse_0/test_questions'
_QUESTION = 'What is the capital of Peru?'


class _Pipeline:
  """Runs the steps below one directory, and records the kills.

  Attributes:
    partial: Version that the refresher was writing when it was killed.
    newest_at_kill: Newest complete version at that time, or None.
    partial_error: Error of opening `partial` at that time.
    rows_at_kill: Logged training steps when the trainer was killed.
    answer: stdout of bin.answer.
  """

  def __init__(self, directory):
    self._directory = directory
    os.mkdir(self.path('logs'))
    self._forks = forks.Forks(self.path('logs'))
    self._running = []
    self.run_dir = self.path('pretrain')
    self.qa_dir = self.path('qa')

  def path(self, *names):
    return os.path.join(self._directory, *names)

  def _start(self, name, *flags):
    pid = self._forks.start(name, *flags)
    self._running.append(pid)
    return pid

  def _finish(self, *pids):
    self._forks.finish(*pids, timeout_secs=_TIMEOUT_SECS)
    self._running = [pid for pid in self._running if pid not in pids]

  def _run(self, name, *flags):
    self._finish(self._start(name, *flags))

  def _kill(self, pid):
    self._running.remove(pid)
    self._forks.kill(pid)

  def clean_up(self):
    for pid in self._running:
      self._forks.kill(pid)
    shutil.rmtree(self._directory)

  def run(self):
    self._run('unpack_demo', f'--output_dir={self.path("world")}')
    for split, number in _NUM_QUESTIONS.items():
      self._write_questions(split, number)
    self._run(
      'make_blocks',
      f'--input={self.path("world", "articles.jsonl")}',
      f'--max_articles={_NUM_COUNTRIES}',
      '--vocab_size=1000',
      '--max_block_wordpieces=48',
      f'--output_dir={self.path("corpus")}',
    )
    queries = self._start(
      'make_queries',
      f'--input={self.path("world", "articles.jsonl")}',
      '--max_articles=20',
      self._corpus_flag(),
      f'--output_dir={self.path("queries")}',
    )
    self._run(
      'warm_start',
      _CONFIG,
      self._corpus_flag(),
      f'--run_dir={self.path("ict")}',
    )
    self._finish(queries)
    self._pretrain()
    self._answer_questions()

  def _write_questions(self, split, number):
    """Writes the first questions about countries."""
    with open(self.path('world', f'{split}_questions.jsonl')) as file:
      lines = [line for line in file if '"gold_id": "country/' in line]
    with open(self.path(f'{split}_questions.jsonl'), 'w') as file:
      file.writelines(lines[:number])

  def _pretrain(self):
    trainer = self._start_trainer(f'--init_from={self.path("ict")}')
    refresher = self._start_refresher()
    self.partial = _poll(lambda: self._caught_writing(refresher))
    self._kill(refresher)
    self.newest_at_kill = versions.newest(layout.index_root(self.run_dir))
    try:
      versions.verify(self.partial)
    except errors.UserError as error:
      self.partial_error = str(error)
    refresher = self._start_refresher()

    checkpoint = os.path.join(layout.checkpoint_dir(self.run_dir), 'checkpoint')
    _poll(lambda: os.path.exists(checkpoint))
    self._kill(trainer)
    self.rows_at_kill = self.logged_steps()
    self._finish(self._start_trainer('--resume'), refresher)

  def _start_trainer(self, flag):
    return self._start(
      'pretrain',
      _CONFIG,
      self._corpus_flag(),
      f'--queries_dir={self.path("queries")}',
      f'--run_dir={self.run_dir}',
      flag,
    )

  def _start_refresher(self):
    return self._start(
      'refresh_index',
      self._corpus_flag(),
      f'--run_dir={self.run_dir}',
      '--poll_secs=0.1',
    )

  def _caught_writing(self, refresher):
    """Stops the refresher in the middle of a version; returns its path."""
    if not self._forks.is_running(refresher):
      raise RuntimeError(f'The refresher ended:\n{self._forks.logs()}')
    path = self._incomplete_version()
    if not path:
      return ''
    os.kill(refresher, signal.SIGSTOP)
    if versions.is_complete(path):  # The refresher was faster.
      os.kill(refresher, signal.SIGCONT)
      return ''
    return path

  def _incomplete_version(self):
    root = layout.index_root(self.run_dir)
    if not os.path.isdir(root):
      return ''
    paths = [os.path.join(root, name) for name in os.listdir(root)]
    return next((p for p in paths if not versions.is_complete(p)), '')

  def _answer_questions(self):
    self._run(
      'finetune',
      _CONFIG,
      self._corpus_flag(),
      f'--questions={self.path("train_questions.jsonl")}',
      f'--init_from={self.run_dir}',
      f'--run_dir={self.qa_dir}',
    )
    evaluation = self._start(
      'evaluate',
      self._corpus_flag(),
      f'--model_dir={self.qa_dir}',
      f'--questions={self.path("dev_questions.jsonl")}',
      f'--questions={self.path("test_questions.jsonl")}',
      '--sparse_weight=0',
      '--sparse_weight=1',
      f'--output_dir={self.path("test")}',
      '--recall_at=1,5',
    )
    # In a process of its own, whose stdout is the user's.
    self.answer = subprocess.run(
      [
        *(sys.executable, '-m', 'bin.answer', self._corpus_flag()),
        *(f'--model_dir={self.qa_dir}', f'--question={_QUESTION}', '--json'),
      ],
      cwd=source_tree.ROOT,
      stdout=subprocess.PIPE,
      text=True,
      timeout=_TIMEOUT_SECS,
      check=True,
    ).stdout
    self._finish(evaluation)

  def _corpus_flag(self):
    return f'--corpus_dir={self.path("corpus")}'

  def logged_steps(self):
    return [
      row['step'] for row in _json_lines(layout.metrics_file(self.run_dir))
    ]


def _poll(find):
  """Returns the first true result of `find`; TimeoutError if none comes."""
  deadline = time.monotonic() + _TIMEOUT_SECS
  while not (found := find()):
    if time.monotonic() > deadline:
      raise TimeoutError(f'Nothing happened within {_TIMEOUT_SECS} s.')
    time.sleep(0.001)
  return found


def _json_lines(path):
  with open(path) as file:
    return [json.loads(line) for line in file]


class EndToEndTest(absltest.TestCase):
  @classmethod
  def setUpClass(cls):
    super().setUpClass()
    cls.pipeline = _Pipeline(tempfile.mkdtemp())
    cls.addClassCleanup(cls.pipeline.clean_up)
    cls.pipeline.run()

  def test_an_incomplete_index_is_never_read(self):
    partial_step = int(os.path.basename(self.pipeline.partial))
    newest = self.pipeline.newest_at_kill
    self.assertLess(newest.step if newest else -1, partial_step)
    self.assertIn('Found no manifest', self.pipeline.partial_error)

  def test_a_killed_refresher_ends_with_the_index_of_the_last_parameters(self):
    index = versions.newest(layout.index_root(self.pipeline.run_dir))
    self.assertEqual(index.step, _NUM_STEPS)
    versions.verify(index.path)
    params = versions.newest(layout.params_root(self.pipeline.run_dir))
    self.assertEqual(params.step, _NUM_STEPS)

  def test_a_killed_trainer_resumes_from_its_checkpoint(self):
    before = self.pipeline.rows_at_kill
    steps = self.pipeline.logged_steps()
    after = steps[len(before) :]
    self.assertNotEmpty(before)
    # It resumed neither from 0 nor after the last saved step, and logged every
    # loop of 5 steps to the end.
    self.assertLessEqual(after[0], before[-1] + 5)
    self.assertGreater(after[0], 5)
    self.assertEqual(after, list(range(after[0], _NUM_STEPS + 1, 5)))
    self.assertTrue(os.path.exists(layout.done_file(self.pipeline.run_dir)))

  def test_the_trainer_uses_the_indexes_of_the_refresher(self):
    rows = _json_lines(layout.metrics_file(self.pipeline.run_dir))
    for row in rows:
      # The oldest possible index is the first.
      self.assertBetween(row['index_age_steps'], 0, row['step'])

  def test_evaluates_all_questions_in_order_from_the_evidence(self):
    with open(self.pipeline.path(_EVALUATION, 'metrics.json')) as file:
      metrics = json.load(file)
    rows = _json_lines(self.pipeline.path(_EVALUATION, 'predictions.jsonl'))
    questions = _json_lines(self.pipeline.path('test_questions.jsonl'))
    self.assertEqual(metrics['num_questions'], len(questions))
    self.assertLessEqual(metrics['recall@1'], metrics['recall@5'])
    self.assertEqual(
      [row['question'] for row in rows], [q['question'] for q in questions]
    )
    for row in rows:
      self._check_evidence(row)

  def test_answers_as_json(self):
    (line,) = self.pipeline.answer.splitlines()  # And nothing else on stdout.
    row = json.loads(line)
    self.assertEqual(row['question'], _QUESTION)
    self._check_evidence(row)

  def _check_evidence(self, row):
    self.assertNotEmpty(row['evidence'])
    self.assertEqual(row['prediction'], row['evidence'][0]['answer'])
    for item in row['evidence']:
      answer = item['text'][item['start'] : item['end']]
      self.assertEqual(answer, item['answer'])
      self.assertBetween(item['retrieval_probability'], 0, 1)


if __name__ == '__main__':
  absltest.main()
