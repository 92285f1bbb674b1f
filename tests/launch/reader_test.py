"""Tests for launch.reader."""

import json
import os

from absl.testing import absltest

from launch import reader
from realm_tf import errors
from tests import tiny


class ReadSquadTest(absltest.TestCase):
  def _read(self, value):
    path = self.create_tempfile('squad.json', json.dumps(value)).full_path
    output = os.path.join(self.create_tempdir().full_path, 'data')
    reader.read_squad(path, output)
    names = 'articles', 'questions'
    return [tiny.read_rows(f'{output}/{name}.jsonl') for name in names]

  def test_a_paragraph_is_an_article_of_its_questions(self):
    asked = {'id': 'q', 'question': 'Who?', 'answers': [{'text': 'Ann'}]}
    never = {'id': 'r', 'question': 'Why?', 'answers': []}
    never['is_impossible'] = True
    mill = {'context': 'Ann.', 'qas': []}
    inn = {'context': 'Ann came.', 'qas': [asked, never]}
    articles, questions = self._read(
      {
        'data': [
          {'title': 'Old_Mill', 'paragraphs': [mill]},
          {'title': 'Inn', 'paragraphs': [inn]},
        ]
      }
    )
    self.assertEqual(
      articles,
      [
        {'id': '0', 'title': 'Old Mill', 'text': 'Ann.'},
        {'id': '1', 'title': 'Inn', 'text': 'Ann came.'},
      ],
    )
    self.assertEqual(
      questions, [{**asked, 'gold_id': '1'}, {**never, 'gold_id': '1'}]
    )

  def test_another_file_is_a_mistake(self):
    for wrong in ([1], {'data': [{'title': 'Inn'}]}):
      with self.assertRaisesRegex(
        errors.UserError, "QUESTIONS must be SQuAD's"
      ):
        self._read(wrong)


if __name__ == '__main__':
  absltest.main()
