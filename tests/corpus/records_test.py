"""Tests for realm_tf.corpus.records, with the readers that use it."""

import gzip
import json
from unittest import mock

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.corpus import article_records
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import questions
from realm_tf.corpus import records
from realm_tf.corpus import sources
from tests import input_case

_RECORDS = [
  {'a': 'x' * 40, 'b': [1, {'c': None}]},
  {'a': 'Zürich "]},{["', 'b': False},
  {},
]


def _read(path, counts=counts_lib.STRICT):
  return records.read(path, records.JSONL, (), counts)


class JsonTest(input_case.InputCase):
  @parameterized.product(chunk=[1, 7, 1 << 20], indent=[None, 4])
  def test_an_array_is_read_in_pieces(self, chunk, indent):
    text = json.dumps(_RECORDS, indent=indent, ensure_ascii=False)
    path = self.file(gzip.compress(f'\n {text}\n\n'.encode()))
    with mock.patch.object(records, '_CHUNK', chunk):
      found = list(_read(path))
    # Indented, the objects begin in lines 3, 12 and 16 of the file.
    numbers = [3, 12, 16] if indent else [2, 2, 2]
    places = [f'{path}:{number}' for number in numbers]
    self.assertEqual(found, [*zip(places, _RECORDS, strict=True)])

  def test_lines_and_an_empty_array_are_read(self):
    found = list(_read(self.file('\n{"a": 1}\n{}\n')))
    self.assertEqual([record for _, record in found], [{'a': 1}, {}])
    self.assertEmpty(list(_read(self.file('[\n]'))))

  def test_indented_objects_are_read(self):
    text = '\ufeff' + '\n'.join(json.dumps(r, indent=1) for r in _RECORDS)
    path = self.file(text)
    places = [f'{path}:{number}' for number in (1, 10, 14)]
    self.assertEqual([*_read(path)], [*zip(places, _RECORDS, strict=True)])

  def test_elements_that_are_no_objects_may_be_skipped(self):
    counts = counts_lib.Counts(skip_errors=True)
    found = _read(self.file('[{"a": 1}, 7, {"a": 2}]'), counts)
    self.assertEqual([record for _, record in found], [{'a': 1}, {'a': 2}])
    self.assertEqual(counts.left_out, {counts_lib.UNREADABLE: 1})

  def test_is_lazy(self):
    found = _read(self.file('[{"a": 1},\n{"a": broken'))
    self.assertEqual(next(found)[1], {'a': 1})

  @parameterized.named_parameters(
    ('cut_between', '[{"a": 1},\n', ':2 must be JSON'),
    ('no_end', '[{"a": 1}\n', ':2 must be JSON; , or ] must follow'),
    ('cut_in_a_string', '[{"a": 1},\n{"b":\n"cu', ':3 must be JSON; Untermin'),
    ('cut_in_a_word', '[{"a": 1},\n{"b": tr', ':2 must be JSON'),
    ('wrong_line', '[\n{"a": 1},\n{"b" 1},\n{}]', ':3 must be JSON'),
    ('no_comma', '[\n{"a": 1}\n{"b": 1}]', ':3 must be JSON; , or ] must'),
    ('no_object', '[{},\n7]', ':2 must be a JSON object. Found int'),
    ('more', '[{}]\n[{}]', ':1 must be the end'),
    ('cut_line', '{"a": 1}\n{"a"', ':2 must be JSON'),
    ('deep', '[{},\n' + '[' * 100_000, ':2 must be JSON; .*nested too deep'),
    ('indented', '{\n"a": 1,\n"b" 2}', ':3 must be JSON'),
  )
  def test_a_bad_file_is_a_user_error_with_its_line(self, text, message):
    for chunk in (1, 1 << 20):
      path = self.file(text)
      with (
        mock.patch.object(records, '_CHUNK', chunk),
        self.assertRaisesRegex(errors.UserError, f'^{path}{message}'),
      ):
        list(_read(path))


class ReadTextsTest(input_case.InputCase):
  def test_reads_the_text_of_every_line(self):
    texts = records.read_texts([self.file('{"text": "A."}\n\n{"x": 1}\n')])
    self.assertEqual(next(texts), 'A.')
    with self.assertRaisesRegex(errors.UserError, ":3 must have 'text'"):
      next(texts)


_LONG = 'word ' * 100_000


class CsvTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('comma', 'id,title,text\r\n7,Bern,"Old, ""very"".\n\nBig."\r\n'),
    ('mark', '\ufeffid;text;title\n7;"Old, ""very"".\n\nBig.";Bern\n'),
    ('psgs', 'id\ttext\ttitle\n7\t"Old, ""very"".\n\nBig."\tBern\n'),
    ('case', 'ID, Title, Text,x\n7,Bern,"Old, ""very"".\n\nBig.",\n\n'),
  )
  def test_reads_columns_by_their_header(self, content):
    expected = sources.Article('Bern', 'Old, "very".\n\nBig.', '7')
    self.assertEqual(self.articles(self.file(content)), [expected])

  def test_a_field_may_be_long_and_a_title_missing(self):
    path = self.file(f'text\n"{_LONG}"\n""\n')
    counts = counts_lib.Counts()
    (article,) = self.articles(path, counts=counts)
    self.assertEqual(article, sources.Article('', _LONG, '0'))
    self.assertEqual(
      counts.summary(),
      f' 1 articles without a title. Left out: 1 empty ({path}:3).',
    )

  def test_flags_name_other_columns(self):
    path = self.file('key,name,description\nx,A,B.\n')
    keys = article_records.Keys('key', 'name', 'description')
    expected = sources.Article('A', 'B.', 'x')
    self.assertEqual(self.articles(path, keys=keys), [expected])
    self.assert_refused(path, 'Found .*--text_key')

  def test_a_csv_without_backslashes_is_read_once(self):
    path = self.file('text\n"A ""b"".\nC."\n')
    read = files.read_all_lines
    with mock.patch.object(files, 'read_all_lines', wraps=read) as reads:
      self.assertLen(self.articles(path), 1)
    reads.assert_called_once()

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
    ('one_answer', 'id;question;answer\n3;who;A\n', ('A',)),
  )
  def test_reads_questions(self, content, answers):
    (question,) = questions.read_questions(self.file(content))
    self.assertEqual(question.question, 'who')
    self.assertEqual(question.answers, answers)

  def test_quotation_marks_of_tsv_may_be_text(self):
    content = (
      'id\ttext\ttitle\n1\t"Come, he said.\tA\n2\tIt is 5" long.\tB\n'
      '3\t"She said ""no""."\tC\n4\t"two\nlines"\tD\n5\tend"\tE\n'
    )
    path = self.file(content, 'a.tsv')
    rows = [row for _, row in records.rows(path, '\t')][1:]
    self.assertEqual(
      [text for _, text, _ in rows],
      ['"Come, he said.', 'It is 5" long.', 'She said "no".', 'two\nlines',
       'end"'],
    )  # fmt: skip
    self.assertEqual(''.join(title for *_, title in rows), 'ABCDE')

  def test_finds_the_delimiter_of_a_header_with_a_known_name(self):
    self.assertEqual(records.delimiter('a,b\ttext', {'text'}), '\t')
    self.assertEqual(records.delimiter('a,b c', {'text'}), '')


if __name__ == '__main__':
  absltest.main()
