"""Tests for realm_tf.corpus.questions, in the forms of the field."""

import gzip
import json

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import questions
from tests import input_case

Question = questions.Question
_QAS = [
  {'id': 'a', 'question': 'Who?', 'answers': [{'text': t} for t in 'AAB']},
  {
    'id': 'b',
    'question': 'Nobody?',
    'answers': [],
    'plausible_answers': [{'text': 'C', 'answer_start': 0}],
  },
]
_SQUAD = {
  'version': 'v2.0',
  'data': [{'title': 'T', 'paragraphs': [{'context': 'C', 'qas': _QAS}]}],
}
_TRIVIA = {
  'Data': [
    {
      'Question': 'Who?',
      'QuestionId': 'a',
      'Answer': {'Value': 'A', 'Aliases': ['B', 'A'], 'NormalizedValue': 'a'},
    }
  ],
  'Domain': 'Web',
}
_KILT = {
  'id': 'a',
  'input': 'Who?',
  'output': [{'answer': 'A', 'provenance': []}, {'x': 2}, {'answer': 'B'}],
}
_BOTH = Question('Who?', ('A', 'B'), question_id='a')
_ONE = _BOTH._replace(answers=('A',))
_WHO = {'id': 'a', 'question': 'Who?'}


class ParseTest(parameterized.TestCase):
  @parameterized.named_parameters(
    (
      'squad',
      _SQUAD,
      [
        _BOTH._replace(title='T'),
        Question('Nobody?', (), question_id='b', title='T'),
      ],
    ),
    ('trivia_qa', _TRIVIA, [_BOTH]),
    ('kilt', _KILT, [_BOTH]),
    ('fid', {**_WHO, 'target': 'A', 'answers': ['A', 'B']}, [_BOTH]),
    ('target', {**_WHO, 'target': 'A', 'ctxs': []}, [_ONE]),
    ('null', {**_WHO, 'answers': None, 'answer': ['A', 'B']}, [_BOTH]),
    ('blank', {**_WHO, 'answers': ['A', ' ', None, 'B', '']}, [_BOTH]),
    (
      'hotpot',
      {'_id': 5, 'question': 'Who?', 'answer': 'A', 'context': [['T', []]]},
      [Question('Who?', ('A',), question_id='5')],
    ),
    ('no_answer', {**_WHO, 'answers': []}, [_BOTH._replace(answers=())]),
    (
      'brackets',
      {**_WHO, 'answer': '[A-Z]+[0-9]', 'regex': True},
      [_BOTH._replace(answers=('[A-Z]+[0-9]',), regex=True)],
    ),
  )
  def test_reads(self, record, expected):
    for each in (record, json.loads(json.dumps(record))):
      self.assertEqual(list(questions.parse('f:1', each)), expected)

  @parameterized.parameters(
    ({'answers': ['A']}, "f:1 must have 'question'"),
    ({'question': 'W?', 'Gold': 'A'}, "'answers'.*Found 'question'"),
    ({**_WHO, 'answers': [True]}, 'Found True in them'),
    ({**_WHO, 'answers': '[1 2]'}, 'must have a list of answers'),
    ({**_WHO, 'gold_id': True, 'answers': ['A']}, 'as id. Found Tr'),
    ({**_WHO, 'answers': [[[['A']]]]}, 'in them'),
    ({'data': {'a': 1}}, "f:1 must have 'data', a list of objects"),
    (
      {'data': [{'paragraphs': [{'qas': [{'id': 'a'}]}]}]},
      "f:1, data 1, paragraphs 1, qas 1 must have 'question'",
    ),
    ({**_WHO, 'answers': ['A'], 'regex': 1}, "true or false as 'regex'"),
    (
      {**_WHO, 'answer': '(', 'regex': True},
      'a regular expression. Found .\\(',
    ),
    ({**_WHO, 'answers': [], 'is_impossible': 1}, "as 'is_impossible'"),
    ({**_WHO, 'answer': 'A', 'is_impossible': True}, 'must have no answers'),
  )
  def test_other_records_are_a_user_error(self, record, message):
    with self.assertRaisesRegex(errors.UserError, message):
      list(questions.parse('f:1', record))


class ListedAnswersTest(parameterized.TestCase):
  @parameterized.parameters(
    'Lima',
    "['Lima'",
    "['Lima' 'Peru']",
    '(1, 2)',
    '["\\ud83d"]',
    '__import__("os").getcwd()',
    '[' * 100_000,
    '-' * 100_000 + '1',
    "{'a': 1}",
    '',
  )
  def test_other_texts_are_a_user_error(self, literal):
    with self.assertRaisesRegex(errors.UserError, '^f:1 must have a list of'):
      questions.listed_answers('f:1', literal)


class ReadQuestionsTest(input_case.InputCase):
  def _read(self, content, name='q.jsonl', **options):
    return questions.read_questions(self.file(content, name), **options)

  def test_keeps_impossible_questions_only_for_callers_that_use_them(self):
    answerable = {'question': 'Who?', 'answers': [{'text': 'A'}], 'id': '1'}
    impossible = {'question': 'When?', 'answers': [], 'is_impossible': True}
    squad = json.dumps(
      {'data': [{'paragraphs': [{'qas': [answerable, impossible]}]}]}
    )
    expected = [
      Question('Who?', ('A',), question_id='1'),
      Question('When?', (), is_impossible=True),
    ]
    self.assertEqual(self._read(squad), expected[:1])
    self.assertEqual(self._read(squad, keep_impossible=True), expected)

  def test_reads_back_what_is_written(self):
    path = self.file('', 'written.jsonl')
    written = [
      Question('Who?', ('A', 'B'), False, '3', 'g'),
      Question('Wo in Köln?', ('1\\d',), True, '4', ''),
      Question('When?', (), False, '5', 'g', is_impossible=True),
    ]
    questions.write_questions(written, path)
    found = questions.read_questions(path, keep_impossible=True)
    self.assertEqual(found, written)

  def test_reads_a_glob_of_compressed_files(self):
    line = b'{"question": "Who?", "answers": ["A"]}\n'
    path = self.file(name='q-0.jsonl.gz', content=gzip.compress(line * 2))
    self.assertLen(questions.read_questions(path.replace('q-0', 'q-*')), 2)

  def test_a_curated_trec_file_has_regular_expressions(self):
    line = '{"question": "When?", "answer": ["19\\\\d\\\\d"]}\n'
    (found,) = self._read(line, 'CuratedTrec.resplit.dev.jsonl')
    self.assertEqual(found, Question('When?', (r'19\d\d',), True))
    (found,) = self._read(line, 'WebQuestions.resplit.dev.jsonl')
    self.assertFalse(found.regex)

  def test_reads_columns_of_curated_trec(self):
    (found,) = self._read('trec1\tdate\tWhen?\t19\\d\\d|then\r\n\n', 'c.tsv')
    self.assertEqual(found, Question('When?', (r'19\d\d|then',), True, 'trec1'))

  @parameterized.parameters(
    ('1\tdate\tWhen?\n', ':1 must have 4 columns.*Found 3'),
    ('1\tdate\tWhen?\t\n', ':1 must have 4 columns'),
    ('1\td\tW\tx\n1\td\tW\t(x\n', ':2 must have a regular expression'),
    ('{"question": "Who?", "answers": []}', ' must .* 1 question without'),
    ('{"question"', ':1 must be JSON'),
    ('[\n{"question": "W', ':2 must be JSON'),
    ('[\n{"question": "W"}]', ":2 must have 'answers'"),
    ('', ' must have at least one question'),
  )
  def test_a_bad_line_is_a_user_error(self, content, message):
    path = self.file(content, 'bad')
    with self.assertRaisesRegex(errors.UserError, f'^{path}{message}'):
      questions.read_questions(path)


if __name__ == '__main__':
  absltest.main()
