"""Tests for realm_tf.corpus.beir, with the readers that use it."""

import gzip
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import questions
from realm_tf.corpus import sources
from tests import input_case

_CORPUS = b"""{"_id": "d1", "title": "Bern", "text": "A city.", "metadata": {}}
{"_id": "d2", "text": "No title."}
{"_id": 3, "title": null, "text": "Null."}
"""
_QUERIES = b"""\xef\xbb\xbf{"_id": "q1", "text": "What is Bern?"}
{"_id": "q2", "text": "Judged in no line?"}
{"_id": "q3", "text": "Nothing relevant?"}
"""
_QRELS = b'query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t2\nq3\td1\t0\n'


class BeirTest(input_case.InputCase):
  def _folder(self, **files):
    folder = self.create_tempdir().full_path
    os.mkdir(os.path.join(folder, 'qrels'))
    for name, content in {
      'corpus.jsonl.gz': gzip.compress(_CORPUS),
      'queries.jsonl': _QUERIES,
      'qrels/test.tsv': _QRELS,
      **files,
    }.items():
      with open(os.path.join(folder, name), 'wb') as file:
        file.write(content)
    return folder

  def test_reads_articles_with_their_ids(self):
    self.assertEqual(
      self.articles(f'beir:{self._folder()}'),
      [
        sources.Article('Bern', 'A city.', 'd1'),
        sources.Article('', 'No title.', 'd2'),
        sources.Article('', 'Null.', '3'),
      ],
    )

  def test_reads_judged_questions_with_their_best_article(self):
    folder = self._folder(**{'qrels/dev.tsv': b'q2\td2\t1\n'})
    for item, text, number in (
      (folder, 'What is Bern?', 1),
      (f'{folder}@dev', 'Judged in no line?', 2),
    ):
      found = questions.read_questions(f'beir:{item}', may_lack_answers=True)
      expected = questions.Question(
        text, (), question_id=f'q{number}', gold_id=f'd{number}'
      )
      self.assertEqual(found, [expected])
    with self.assertRaisesRegex(errors.UserError, 'must have answers'):
      questions.read_questions(f'beir:{folder}')

  @parameterized.parameters(
    ('qrels/test.tsv', _QRELS[:-2], ':4 must be.*q3'),
    ('queries.jsonl', b'{"_id": 3.5, "text": "x"}', ':1 must have a string or'),
    ('queries.jsonl', b'{"text": "x"}', ':1 must have "_id"'),
    ('corpus.jsonl', _CORPUS[:-9], ':3 must be JSON'),
  )
  def test_a_bad_line_is_a_user_error(self, name, content, message):
    folder = self._folder(**{name: content})
    path = os.path.join(folder, name)
    with self.assertRaisesRegex(errors.UserError, f'^{path}{message}'):
      self.articles(f'beir:{folder}')
      questions.read_questions(f'beir:{folder}', may_lack_answers=True)

  def test_a_missing_split_is_a_user_error(self):
    folder = self._folder()
    with self.assertRaisesRegex(errors.UserError, 'no .*/qrels/train.tsv'):
      questions.read_questions(f'beir:{folder}@train', may_lack_answers=True)
    with self.assertRaisesRegex(errors.UserError, 'no /no/corpus.jsonl'):
      sources.read_articles(['beir:/no'])


class QrelsTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('trec', 'q 0 d 2\n\nq\t0\te\t-1\n'),
    ('beir', 'query-id\tcorpus-id\tscore\nq\td\t2\nq\te\t-1\n'),
    ('mark_and_crlf', '\ufeffq\td\t2\r\nq\te\t-1\r\n'),
    ('header_of_trec', 'query_id 0 doc_id relevance\nq Q0 d 2\nq Q0 e -1'),
    ('repeated', 'q d 2\nq d 2\nq e -1\nq d 2\n'),
  )
  def test_reads_columns(self, content):
    found = beir.read_qrels(self.file(content))
    self.assertEqual(found, {'q': {'d': 2, 'e': -1}})

  @parameterized.parameters(
    'query-id,corpus-id,score\nmy q,d,1\n"my q","e, f",0\n',
    '{"query-id": "my q", "corpus-id": "d", "score": 1.0}\n'
    '{"query-id": "my q", "corpus-id": "e, f", "score": 0}\n',
    '[{"qid": "my q", "docid": "d", "label": 1},'
    '{"qid": "my q", "docid": "e, f", "label": 0}]',
    'my q\td\t1.0\nmy q\te, f\t0.0\n',
    '"my q", d, 1\n"my q", "e, f", 0\n',
  )
  def test_ids_may_have_spaces_and_commas(self, content):
    found = beir.read_qrels(self.file(content))
    self.assertEqual(found, {'my q': {'d': 1, 'e, f': 0}})

  @parameterized.parameters(
    (
      'q d 1\nq e 1\nq d 0\n',
      ":3 must agree with the lines before.*'d'.* as 1.*Found 0",
    ),
    (f'q 0 d {"9" * 5000}\n', ':1 must be query id.*9 digits'),
    ('q d 0.5\n', ':1 must be query id'),
    ('q d\n', ':1 must be query id'),
    ('q Q0 d 1 2.5 run\n', ':1 must be query id'),
    ('q\t\td\t\n', ':1 must be query id'),
    ('query-id\tcorpus-id\tscore\n', ' must have a judgement'),
    ('', ' must have a judgement'),
  )
  def test_a_bad_file_is_a_user_error(self, content, message):
    path = self.file(content)
    with self.assertRaisesRegex(errors.UserError, f'^{path}{message}'):
      beir.read_qrels(path)

  def test_a_glob_of_two_files_is_a_user_error(self):
    folder = self.create_tempdir()
    for name in 'ab':
      folder.create_file(name, 'q d 1\n')
    with self.assertRaisesRegex(errors.UserError, 'must be one file'):
      beir.read_qrels(folder.full_path)


if __name__ == '__main__':
  absltest.main()
