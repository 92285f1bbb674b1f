"""Tests for realm_tf.corpus.record_files, with the readers that use it."""

import gzip

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import questions
from realm_tf.corpus import record_files
from realm_tf.corpus import sources
from tests import input_case

_LONG = 'word ' * 100_000


class ArticlesTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('comma', 'id,title,text\r\n7,Bern,"Old, ""very"".\n\nBig."\r\n'),
    ('mark', '\ufeffid;text;title\n7;"Old, ""very"".\n\nBig.";Bern\n'),
    ('psgs', 'id\ttext\ttitle\n7\t"Old, ""very"".\n\nBig."\tBern\n'),
    ('case', 'ID, Title, Text,x\n7,Bern,"Old, ""very"".\n\nBig.",\n\n'),
  )
  def test_reads_columns_by_their_header(self, content):
    expected = sources.Article('Bern', 'Old, "very".\n\nBig.', '7')
    for data in (content.encode(), gzip.compress(content.encode())):
      path = self.file(data)
      self.assertEqual(self.articles(path), [expected])

  def test_a_field_may_be_long_and_a_title_missing(self):
    path = self.file(f'text\n"{_LONG}"\n""\n')
    counts = counts_lib.Counts()
    (article,) = self.articles(path, counts=counts)
    self.assertEqual(article, sources.Article('', _LONG, '0'))
    self.assertEqual(
      counts.summary(), ' 1 articles without a title. Left out: 1 empty.'
    )

  def test_flags_name_other_columns(self):
    path = self.file('key,name,description\nx,A,B.\n')
    keys = article_records.Keys('key', 'name', 'description')
    expected = sources.Article('A', 'B.', 'x')
    self.assertEqual(self.articles(path, keys=keys), [expected])
    self.assert_refused(path, 'Found .*--text_key')

  @parameterized.named_parameters(
    ('columns', b'id,text\n1,A,B\n2,C\n', ':2 must have 2 columns.*Found 3'),
    ('quotes', b'id,text\n1,"A" b\n2,C\n', ':2 must be a row with quotes'),
    ('not_utf8', b'id,text\n1,"A\n\xff\nB"\n2,C\n', ' must be UTF-8.* line 3'),
  )
  def test_a_bad_row_is_a_user_error_or_skipped_whole(self, data, message):
    path = self.file(data)
    self.assert_refused(path, message)
    articles, left_out = self.skipping(path)
    self.assertEqual(articles, [sources.Article('', 'C', '2')])
    self.assertEqual(left_out, {counts_lib.UNREADABLE: 1})

  def test_a_file_without_header_is_a_user_error(self):
    path = self.file('1\tA.\tB\n')
    self.assert_refused(path, 'the names of its columns', format='csv')

  @parameterized.named_parameters(
    ('dpr', "who\t['A', \"B's\"]\n", ('A', "B's")),
    ('dpr_quoted', 'who\t"[\'A\', ""B\'s""]"\n', ('A', "B's")),
    ('header', 'question,answers\nwho,"[""A"", ""B\'s""]"\n', ('A', "B's")),
    ('one_answer', 'id;question;answer\n3;who;A\n', ('A',)),
    ('trec', 't1\tkind\twho\tA.*\n', ('A.*',)),
  )
  def test_reads_questions(self, content, answers):
    (question,) = questions.read_questions(self.file(content))
    self.assertEqual(question.question, 'who')
    self.assertEqual(question.answers, answers)

  def test_finds_the_delimiter_of_a_header_with_a_known_name(self):
    self.assertEqual(record_files.delimiter('a,b\ttext', {'text'}), '\t')
    self.assertEqual(record_files.delimiter('a,b c', {'text'}), '')


if __name__ == '__main__':
  absltest.main()
