"""Tests for realm_tf.corpus.questions."""

import gzip
import json

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import questions
from realm_tf.corpus import writers
from tests import input_case


class ReadQuestionsTest(input_case.InputCase):
  def test_reads_every_key(self):
    path = self.file(
      name='q.jsonl',
      content=b"""
{"question": "Who?", "answers": ["A", "B"], "id": 3, "gold_id": "g"}
{"question": "When?", "answer": ["19\\\\d\\\\d"], "regex": true}
{"question": "What?", "answer": "C"}
""",
    )
    self.assertEqual(
      questions.read_questions(path),
      [
        questions.Question('Who?', ('A', 'B'), False, '3', 'g'),
        questions.Question('When?', (r'19\d\d',), True),
        questions.Question('What?', ('C',)),
      ],
    )

  def test_keeps_impossible_questions_only_for_callers_that_use_them(self):
    answerable = {'question': 'Who?', 'answers': [{'text': 'A'}], 'id': '1'}
    impossible = {'question': 'When?', 'answers': [], 'is_impossible': True}
    squad = {'data': [{'paragraphs': [{'qas': [answerable, impossible]}]}]}
    path = self.file(name='squad2.json', content=json.dumps(squad).encode())
    expected = [
      questions.Question('Who?', ('A',), question_id='1'),
      questions.Question('When?', (), is_impossible=True),
    ]
    self.assertEqual(questions.read_questions(path), expected[:1])
    found = questions.read_questions(path, keep_impossible=True)
    self.assertEqual(found, expected)

  def test_reads_back_what_is_written(self):
    path = self.file(name='written.jsonl', content=b'')
    written = [
      questions.Question('Who?', ('A', 'B'), False, '3', 'g'),
      questions.Question('Wo in Köln?', ('1\\d',), True, '4', ''),
      questions.Question('When?', (), False, '5', 'g', is_impossible=True),
    ]
    writers.write_questions(written, path)
    found = questions.read_questions(path, keep_impossible=True)
    self.assertEqual(found, written)

  def test_reads_dpr_and_fid(self):
    dpr = {
      'dataset': 'nq_train',
      'question': 'Who?',
      'answers': ['A', 'B'],
      'positive_ctxs': [{'title': 'T', 'text': 'A.', 'passage_id': '3'}],
      'hard_negative_ctxs': [],
    }
    fid = {'id': 'f', 'question': 'What?', 'target': 'C', 'ctxs': []}
    path = self.file(
      name='nq.json', content=json.dumps([dpr, fid], indent=4).encode()
    )
    self.assertEqual(
      questions.read_questions(path),
      [
        questions.Question('Who?', ('A', 'B')),
        questions.Question('What?', ('C',), question_id='f'),
      ],
    )

  def test_reads_a_glob_of_compressed_files(self):
    line = b'{"question": "Who?", "answers": ["A"]}\n'
    path = self.file(name='q-0.jsonl.gz', content=gzip.compress(line * 2))
    self.assertLen(questions.read_questions(path.replace('q-0', 'q-*')), 2)

  def test_a_curated_trec_file_has_regular_expressions(self):
    line = b'{"question": "When?", "answer": ["19\\\\d\\\\d"]}\n'
    path = self.file(name='CuratedTrec.resplit.dev.jsonl', content=line)
    expected = questions.Question('When?', (r'19\d\d',), True)
    self.assertEqual(questions.read_questions(path), [expected])
    path = self.file(name='WebQuestions.resplit.dev.jsonl', content=line)
    self.assertFalse(questions.read_questions(path)[0].regex)

  def test_reads_columns_of_curated_trec(self):
    path = self.file(
      name='curated-test.tsv',
      content=b'trec1\tdate\tWhen?\t19\\d\\d|then\r\n\n',
    )
    self.assertEqual(
      questions.read_questions(path),
      [questions.Question('When?', (r'19\d\d|then',), True, 'trec1')],
    )

  @parameterized.parameters(
    (b'1\tdate\tWhen?\n', ':1 must have 4 columns.*Found 3'),
    (b'1\tdate\tWhen?\t\n', ':1 must have 4 columns'),
    (b'1\td\tW\tx\n1\td\tW\t(x\n', ':2 must have a regular expression'),
  )
  def test_bad_columns_are_a_user_error(self, content, message):
    path = self.file(name='bad.tsv', content=content)
    with self.assertRaisesRegex(errors.UserError, f'{path}{message}'):
      questions.read_questions(path)

  @parameterized.named_parameters(
    ('no_question', b'{"answers": ["A"]}', ":1 must have 'question'"),
    ('no_answers', b'\n{"question": "Who?"}', ":2 must have 'answers'"),
    ('empty', b'{"question": "Who?", "answers": []}', '1 question with'),
    ('numbers', b'{"question": "Who?", "answers": [1]}', 'Found 1 in them'),
    ('regex', b'{"question": "W?", "answers": ["A"], "regex": 1}', "'regex'"),
    ('pattern', b'{"question": "W?", "answer": "(", "regex": true}', ':1.*reg'),
    (
      'impossible',
      b'{"question": "W?", "answers": [], "is_impossible": 1}',
      "'is_impossible'",
    ),
    (
      'answered',
      b'{"question": "W?", "answers": ["A"], "is_impossible": true}',
      "no answers with 'is_impossible'",
    ),
    ('broken', b'{"question"', ':1 must be JSON'),
    ('cut_array', b'[\n{"question": "W', ':2 must be JSON'),
    ('bad_element', b'[\n{"question": "W"}]', ":2 must have 'answers'"),
    ('nothing', b'', 'at least one question'),
  )
  def test_bad_line_is_a_user_error(self, content, message):
    path = self.file(name='bad.jsonl', content=content)
    with self.assertRaisesRegex(errors.UserError, f'{path}.*{message}'):
      questions.read_questions(path)


if __name__ == '__main__':
  absltest.main()
