"""Tests for realm_tf.corpus.questions."""

import gzip
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import questions


class ReadQuestionsTest(parameterized.TestCase):
  def _write(self, name, content):
    path = os.path.join(self.create_tempdir(), name)
    with open(path, 'wb') as file:
      file.write(content)
    return path

  def test_reads_every_key(self):
    path = self._write(
      'q.jsonl',
      b"""
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

  def test_reads_a_glob_of_compressed_files(self):
    line = b'{"question": "Who?", "answers": ["A"]}\n'
    path = self._write('q-0.jsonl.gz', gzip.compress(line * 2))
    self.assertLen(questions.read_questions(path.replace('q-0', 'q-*')), 2)

  @parameterized.named_parameters(
    ('no_question', b'{"answers": ["A"]}', ":1 must have 'question'"),
    ('no_answers', b'\n{"question": "Who?"}', ":2 must have 'answers'.*None"),
    ('empty_answers', b'{"question": "Who?", "answers": []}', r'it has \[\]'),
    ('numbers', b'{"question": "Who?", "answers": [1]}', r'it has \[1\]'),
    ('regex', b'{"question": "W?", "answers": ["A"], "regex": 1}', "'regex'"),
    ('broken', b'{"question"', ':1 must be a JSON object'),
    ('empty', b'', 'at least one question'),
  )
  def test_bad_line_is_a_user_error(self, content, message):
    path = self._write('bad.jsonl', content)
    with self.assertRaisesRegex(errors.UserError, f'{path}.*{message}'):
      questions.read_questions(path)


if __name__ == '__main__':
  absltest.main()
