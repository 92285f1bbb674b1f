"""Tests that articles and questions of the field are read.

Each case is a kind of file that people bring, in our own words.
"""

import json
import os
import pathlib
import textwrap

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import files
from realm_tf.corpus import markup
from realm_tf.corpus import questions
from realm_tf.corpus import sources
from realm_tf.text import paragraphs
from tests import input_case

Article = sources.Article
Question = questions.Question
_A, _B = Article('A', 'One.', '0'), Article('B', 'Two.', '1')
_ROWS = {'title': {'0': 'A', '1': 'B'}, 'text': {'0': 'One.', '1': 'Two.'}}
_LINE = '{"title": "A", "text": "One."}'
_OTHER = '{"title": "B", "text": "Two."}'
_PAGE = {'page_content': 'One.', 'metadata': {'source': 'x/A.txt'}}
_PAIRS = [['A', ['One.']], ['B', ['Two', 'words.']]]


def _lines(*records):
  return '\n'.join(map(json.dumps, records))


class ArticlesTest(input_case.InputCase):
  @parameterized.named_parameters(
    ('columns', json.dumps(_ROWS), [_A, _B]),
    ('index', f'{{"0": {_LINE}, "1": {_OTHER}}}', [_A, _B]),
    ('named_index', f'{{"x": {_LINE}}}', [_A._replace(article_id='x')]),
    ('split', json.dumps({'columns': ['title', 'text'], 'index': [0, 1],
                          'data': [['A', 'One.'], ['B', 'Two.']]}), [_A, _B]),
    ('table', f'{{"schema": {{}}, "data": [{_LINE}]}}', [_A]),
    ('glued', f'{_LINE}{_LINE.replace("A", "}{")} {_LINE}\n{_LINE}',
     [_A, Article('}{', 'One.', '1'), _A._replace(article_id='2'),
      _A._replace(article_id='3')]),
    ('tevatron', '{"docid": "x", "title": "A", "text": "One."}',
     [_A._replace(article_id='x')]),
    ('pyserini', '{"id": "x", "contents": "One.", "title": "A"}',
     [_A._replace(article_id='x')]),
    ('lang_chain', _lines(_PAGE, {'id': ['x'], 'kwargs': _PAGE}),
     [_A, _A._replace(article_id='1')]),
    ('ragas', '{"query": "Q?", "retrieved_contexts": ["One.", "Two."]}',
     [_A._replace(title=''), _B._replace(title='')]),
    ('hotpot', _lines({'question': 'Q?', 'context': _PAIRS}),
     [_A, Article('B', 'Two words.', '1')]),
    ('hotpot_of_hugging_face',
     _lines({'context': {'title': ['A'], 'sentences': [['One.']]}}), [_A]),
    ('hotpot_wiki', _lines({'title': 'A', 'text': [['It is.', ' So.'], ['X']]}),
     [Article('A', 'It is. So.\nX', '0')]),
    ('squad', _lines({'data': [{'title': 'A', 'paragraphs': [
        {'context': 'One.', 'qas': []}, {'context': 'Two.', 'qas': []}]}]}),
     [_A, _B._replace(title='A')]),
    ('mrqa', _lines({'header': {}}, {'context': 'One.', 'qas': []}),
     [_A._replace(title='')]),
    ('musique', _lines({'question': 'Q?', 'paragraphs': [
        {'idx': 0, 'title': 'A', 'paragraph_text': 'One.'}]}), [_A]),
    ('kilt', _lines({'wikipedia_id': 7, 'wikipedia_title': 'A', 'text': [
        'A\n', 'One.\n', 'Section::::X.\n', 'BULLET::::- Two.\n']}),
     [Article('A', 'One.\n\nTwo.', '7')]),
    ('pairs', '7\tOne "quote.\nx1\tTwo.\n',
     [Article('', 'One "quote.', '7'), Article('', 'Two.', 'x1')]),
    ('spark', 'title,text\nA,"so \\"it\\" is, 5\\""\n"C:\\\\","Two."\n',
     [Article('A', 'so "it" is, 5"', '0'), Article('C:\\', 'Two.', '1')]),
    ('spark_tabs', 'title\ttext\nA\t"One \\"x\\"."\n',
     [Article('A', 'One "x".', '0')]),
    ('backslashes', 'title,text\n"C:\\","One."\n',
     [Article('C:\\', 'One.', '0')]),
    ('html', _lines({'title': 'A &amp; B', 'text': '<p>a &lt; <b>b</b>&nbsp;c'
                     '</p>\n<script>x</script><div>10<sup>6</sup>'}),
     [Article('A & B', 'a < b\xa0c\n10⁶', '0')]),
  )  # fmt: skip
  def test_articles_are_read(self, content, expected):
    self.assertEqual(self.articles(self.file(content)), expected)

  @parameterized.named_parameters(
    ('two_columns', 'id,text,text\n1,a,b\n', "Found 'text' and 'text'"),
    ('two_cases', 'id,Title,title,text\n1,A,,b\n', "Found 'Title' and 'title'"),
    ('json', _lines({'Text': 'One.', 'text': ''}), ":1 .*Found 'Text' and 't"),
    ('values', '[["A", "One."]]', 'a JSON object. Found list'),
    ('no_list', '{"data": {"a": 1}}', "'data', a list of objects"),
    ('numbers', '{"data": [1]}', 'data 1 must be a JSON object'),
    ('no_pairs', '7\tOne.\nx1\tTwo.\tThree.\n', 'Found .7'),
    (
      'later',
      '\n'.join([f'{i}\tOne.' for i in range(9)] + ['x']),
      ':10 must have 2 columns',
    ),
    ('header', 'doc\tbody_text\n1\tOne\n', "Found 'doc"),
  )
  def test_others_are_a_user_error(self, content, message):
    self.assert_refused(self.file(content), message)

  def test_marks_of_markdown_stay_and_are_counted(self):
    counts = counts_lib.Counts()
    path = self.file(
      _lines({'text': '# A\nSee [it](x).'}, {'text': 'C# 5 * 6'})
    )
    self.assertEqual(self.articles(path, counts=counts)[0].text[0], '#')
    self.assertIn(' 1 articles with marks of Markdown', counts.summary())

  @parameterized.parameters(
    'a < b and c > d', 'vector<int> x; List<B> y;', 'The <b> tag, and <i>.',
    '<stdio.h> & R&D', 'a<br', 'if (i<p && q>r)', 'x</p>', '<p>One <i>two</p>',
  )  # fmt: skip
  def test_texts_with_less_than_stay(self, text):
    self.assertEqual(markup.plain_text(text), text)


class FilesTest(input_case.InputCase):
  def test_files_are_read_once_whatever_their_names(self):
    root = pathlib.Path(self.create_tempdir().full_path)
    names = (
      b'caf\xe9.txt', 'Zürich 🙂.txt'.encode(), b'new\nline.txt', b'a@b.txt',
      b'_notes', b'x/a b.txt', b'_SUCCESS', b'.git/HEAD', b'x/.DS_Store',
    )  # fmt: skip
    for name in names:
      path = os.path.join(os.fsencode(root), name)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      pathlib.Path(os.fsdecode(path)).write_bytes(b'One: ' + name[:3])
    (root / 'linked').symlink_to(root / 'x')
    (root / 'x' / 'again.txt').symlink_to(root / 'a@b.txt')
    (root / 'x' / 'circle').symlink_to(root)
    found = self.articles(str(root), format='text')
    self.assertCountEqual(
      [article.title for article in found],
      ['caf\ufffd', 'Zürich 🙂', 'new line', 'a@b', 'notes', 'a b'],
    )
    recursive = files.find_files(f'{root}/x/**/a b.txt')
    self.assertEqual(recursive, [f'{root}/x/a b.txt'])

  def test_an_at_in_a_folder_is_no_split(self):
    folder = self.create_tempdir('me@home').full_path
    for item, expected in (
      (folder, (folder, '')),
      (f'{folder}@dev', (folder, 'dev')),
      (f'{folder}/x', (f'{folder}/x', '')),
      ('wikipedia@train[:5%]', ('wikipedia', 'train[:5%]')),
    ):
      self.assertEqual(input_files.split_of(item), expected)

  def test_folders_of_beir_are_named(self):
    root = self.create_tempdir()
    for name in ('android', 'gis'):
      root.create_file(f'{name}/corpus.jsonl', '{"_id": "1", "text": "A."}')
    item = f'beir:{root.full_path}'
    with self.assertRaisesRegex(errors.UserError, 'CQADupStack name one'):
      self.articles(item)
    self.assertLen(self.articles(f'{item}/gis'), 1)


class ParagraphsTest(parameterized.TestCase):
  def test_full_lines_are_joined(self):
    words = (
      'The mill at the old river of a well-known owner stands since 1800. ' * 3
    )
    wrapped = textwrap.fill(words.strip(), 40)
    self.assertIn('well-\nknown', wrapped)
    text = 'Mill\n\n{0}\nIt burned.\n\n{0}\n'
    self.assertEqual(
      paragraphs.unwrapped(text.format(wrapped)), text.format(words.strip())
    )

  def test_a_page_ends_within_a_sentence(self):
    text = 'a line of text ' * 3
    pages = f'{text}\n{text}\n{text}\nit ends\n\fhere.\n{text}\n{text}'
    self.assertNotIn('ends\n', paragraphs.unwrapped(pages))

  @parameterized.parameters(
    'One line of a list, of thirty letters\nA short one\nThe third\nLast\n',
    '北京是中国的首都也是全国的政治文化中心位于华北平原的北部边缘\n' * 5,
    ('A paragraph of one line. ' * 9 + '\n') * 5,
    'a,b,cccccccccccccccccccccccccccccccc\n' * 5,
  )
  def test_other_lines_stay(self, text):
    self.assertEqual(paragraphs.unwrapped(text), text)


_WHO = {'question': 'Who?'}
_QUESTION = Question('Who?', ('A', 'B'))


class QuestionsTest(input_case.InputCase):
  @parameterized.parameters(
    "['A', 'B']", "('A', 'B')", "{'A', 'B'}", '["A", "B"]',
    "array(['A', 'B'], dtype=object)", "[np.str_('A'), np.str_('B')]",
    "{'text': array(['A', 'B'], dtype='<U1'), 'answer_start': array([1, 2])}",
    '{"text": ["A", "B"], "answer_start": [1, 2]}', "[{'text': 'A'}, 'B']",
  )  # fmt: skip
  def test_collections_in_a_cell_are_answers(self, cell):
    (found,) = questions.parse('f:1', {**_WHO, 'answers': cell})
    self.assertEqual(found, _QUESTION)

  @parameterized.parameters(
    ('[np.int64(7)]', '7'),
    (1048, '1048'), ([7], '7'), ('[7, 8.5]', '7', '8.5'), (10.0, '10'),
    ('{7}', '7'), ('(7)', '(7)'), ('[A]', '[A]'), ('set()',), (float('nan'),),
    ('No Answer Present.',), (['CANNOTANSWER'],), ('("A" is B)', '("A" is B)'),
  )  # fmt: skip
  def test_other_cells(self, cell, *expected):
    (found,) = questions.parse('f:1', {**_WHO, 'answers': cell})
    self.assertEqual(found.answers, expected)

  @parameterized.named_parameters(
    ('musique', {**_WHO, 'answer': 'A', 'answer_aliases': ['B']}, _QUESTION),
    ('aliases', {**_WHO, 'answer': 'A', 'aliases': "['B']"}, _QUESTION),
    ('ragas', {**_WHO, 'answer': 'X', 'ground_truth': ['A', 'B']}, _QUESTION),
    ('null', {**_WHO, 'answers': ['A', 'B'], 'answerable': None}, _QUESTION),
    ('unanswerable', {**_WHO, 'answer': 'A', 'answerable': False},
     Question('Who?', (), is_impossible=True)),
    ('word', {**_WHO, 'answers': 'A', 'is_impossible': 'False'},
     Question('Who?', ('A',))),
    ('true', {**_WHO, 'answers': '', 'is_impossible': 'TRUE'},
     Question('Who?', (), is_impossible=True)),
  )  # fmt: skip
  def test_fields_of_the_field(self, record, expected):
    self.assertEqual([*questions.parse('f:1', record)], [expected])

  def test_files_of_the_field(self):
    mrqa = [{'header': {'split': 'dev'}}, {'context': 'C', 'qas': [
      {'qid': 'a', 'question': 'Who?', 'answers': ['A', 'B']}]}]  # fmt: skip
    pandas = {'question': {'0': 'Who?'}, 'answers': {'0': ['A', 'B']}}
    for content, expected in (
      (_lines(*mrqa), _QUESTION._replace(question_id='a')),
      (json.dumps(pandas), _QUESTION),
    ):
      found = questions.read_questions(self.file(content))
      self.assertEqual(found, [expected])

  def test_one_name_in_two_cases_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, "^f:1 .*'question' and 'Que"):
      [*questions.parse('f:1', {**_WHO, 'Question': 'Or?', 'answers': 'A'})]

  def test_queries_without_a_header_have_no_answers(self):
    path = self.file('7\tweather in Oslo\n8\twhere is "it\n')
    found = questions.read_questions(path, may_lack_answers=True)
    self.assertEqual(
      [(q.question_id, q.question) for q in found],
      [('7', 'weather in Oslo'), ('8', 'where is "it')],
    )
    with self.assertRaisesRegex(errors.UserError, "must have 'answers'"):
      questions.read_questions(path)


if __name__ == '__main__':
  absltest.main()
