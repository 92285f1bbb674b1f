"""Tests for realm_tf.corpus.questions, in the forms of the field."""

import json

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import questions

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
    ('flash_rag', {**_WHO, 'golden_answers': ['A', 'B']}, [_BOTH]),
    ('fid', {**_WHO, 'target': 'A', 'answers': ['A', 'B']}, [_BOTH]),
    ('hugging_face', {**_WHO, 'answers': {'text': ['A', 'B']}}, [_BOTH]),
    ('null', {**_WHO, 'answers': None, 'answer': ['A', 'B']}, [_BOTH]),
    ('blank', {**_WHO, 'answers': ['A', ' ', None, 'B', '']}, [_BOTH]),
    ('column', {**_WHO, 'answers': '["A", "B"]'}, [_BOTH]),
    (
      'hotpot',
      {'_id': 5, 'question': 'Who?', 'answer': 'A', 'context': [['T', []]]},
      [Question('Who?', ('A',), question_id='5')],
    ),
    (
      'ms_marco',
      {'query_id': 5, 'query': 'Who?', 'answers': ['A']},
      [Question('Who?', ('A',), question_id='5')],
    ),
    ('no_answer', {**_WHO, 'answers': []}, [_BOTH._replace(answers=())]),
    ('all_null', {**_WHO, 'answers': None}, [_BOTH._replace(answers=())]),
    (
      'brackets',
      {**_WHO, 'answer': '[A-Z]+[0-9]', 'regex': True},
      [_BOTH._replace(answers=('[A-Z]+[0-9]',), regex=True)],
    ),
  )
  def test_reads(self, record, expected):
    for each in (record, json.loads(json.dumps(record))):
      self.assertEqual(list(questions.parse('f:1', each)), expected)

  @parameterized.named_parameters(
    ('no_question', {'answers': ['A']}, "f:1 must have 'question'"),
    ('no_key', {'question': 'W?', 'Gold': 'A'}, "'answers'.*Found 'question'"),
    ('number', {**_WHO, 'answers': [7]}, 'Found 7 in them'),
    ('id', {**_WHO, 'id': 7.0, 'answers': ['A']}, 'as id. Found 7.0'),
    ('switch', {**_WHO, 'gold_id': True, 'answers': ['A']}, 'as id. Found Tr'),
    ('nested', {**_WHO, 'answers': [[[['A']]]]}, 'in them'),
    ('groups', {'data': {'a': 1}}, "f:1 must have 'data', a list of objects"),
    (
      'deep_place',
      {'data': [{'paragraphs': [{'qas': [{'id': 'a'}]}]}]},
      "f:1, data 1, paragraphs 1, qas 1 must have 'question'",
    ),
  )
  def test_other_records_are_a_user_error(self, record, message):
    with self.assertRaisesRegex(errors.UserError, message):
      list(questions.parse('f:1', record))


class ListedAnswersTest(parameterized.TestCase):
  @parameterized.parameters(
    ("['Lima', 'Ciudad \"X\"']", ['Lima', 'Ciudad "X"']),
    ('["O\'Neill"]', ["O'Neill"]),
    ('["caf\\u00e9"]', ['café']),
    ('[]', []),
  )
  def test_reads_lists_of_python(self, literal, expected):
    self.assertEqual(questions.listed_answers('f:1', literal), expected)

  @parameterized.parameters(
    'Lima',
    "['Lima'",
    "['Lima' 'Peru']",
    '[1]',
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


if __name__ == '__main__':
  absltest.main()
