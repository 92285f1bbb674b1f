"""Tests for realm_tf.corpus.qrels."""

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import qrels
from tests import input_case


class ReadTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('trec', 'q1 0 d1 2\n\nq1\t0\td2\t-1\n'),
    ('beir', 'query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t-1\n'),
    ('mark_and_crlf', '\ufeffq1\td1\t2\r\nq1\td2\t-1\r\n'),
    ('header_of_trec', 'query_id 0 doc_id relevance\nq1 Q0 d1 2\nq1 Q0 d2 -1'),
  )
  def test_reads_columns(self, content):
    found = qrels.read(self.file(content))
    self.assertEqual(found, {'q1': {'d1': 2, 'd2': -1}})

  def test_ids_between_tabs_may_have_spaces(self):
    found = qrels.read(self.file('my query\tmy doc\t1\n'))
    self.assertEqual(found, {'my query': {'my doc': 1}})

  def test_repeated_judgements_count_once_and_are_logged(self):
    path = self.file('q d 1\nq d 1\nq e 0\nq d 1\n')
    with self.assertLogs(level='WARNING') as logs:
      self.assertEqual(qrels.read(path), {'q': {'d': 1, 'e': 0}})
    self.assertIn('repeats 2 judgements', logs.output[0])

  @parameterized.parameters(
    (
      'q d 1\nq e 1\nq d 0\n',
      ":3 must agree with line 1, .*'d'.* as 1.*Found 0",
    ),
    (f'q 0 d {"9" * 5000}\n', ':1 must be query id.*9 digits'),
    ('q d 0.5\n', ':1 must be query id'),
    ('q d\n', ':1 must be query id'),
    ('q Q0 d 1 2.5 run\n', ':1 must be query id'),
    ('q\t\td\t\n', ':1 must be query id'),
    ('q\td\tx\n', ':1 must be query id'),
    ('query-id\tcorpus-id\tscore\n', ' must have a judgement'),
    ('', ' must have a judgement'),
  )
  def test_a_bad_file_is_a_user_error(self, content, message):
    path = self.file(content)
    with self.assertRaisesRegex(errors.UserError, f'^{path}{message}'):
      qrels.read(path)

  def test_a_glob_of_two_files_is_a_user_error(self):
    folder = self.create_tempdir()
    for name in 'ab':
      folder.create_file(name, 'q d 1\n')
    with self.assertRaisesRegex(errors.UserError, 'must be one file'):
      qrels.read(folder.full_path)


if __name__ == '__main__':
  absltest.main()
