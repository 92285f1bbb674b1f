"""Tests for realm_tf.corpus.datasets, with the readers that use it."""

import functools
import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import pyarrow as pa
from pyarrow import parquet
import tensorflow as tf
import tensorflow_datasets as tfds

from realm_tf import errors
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import questions
from realm_tf.corpus import sources

_RECORDS = [
  {'id': 7, 'title': 'Zürich', 'text': 'A city.'},
  {'id': 9, 'title': 'Bern', 'text': 'B.'},
]
_SQUAD = [
  {
    'id': 'x',
    'question': 'Who?',
    'answers': {'text': ['B', 'B', 'C'], 'answer_start': [7, 7, 9]},
  }
]


def _save(folder, records):
  """Writes files as `Dataset.save_to_disk` does, one for each record."""
  os.makedirs(folder, exist_ok=True)
  names = []
  for number, record in enumerate(records):
    names.append(f'data-{number:05d}-of-{len(records):05d}.arrow')
    table = pa.Table.from_pylist([record])
    with (
      pa.OSFile(os.path.join(folder, names[-1]), 'wb') as sink,
      pa.ipc.new_stream(sink, table.schema) as writer,
    ):
      writer.write_table(table)
  with open(os.path.join(folder, 'state.json'), 'w') as file:
    json.dump({'_data_files': [{'filename': name} for name in names]}, file)
  return folder


class ReadTest(parameterized.TestCase):
  @parameterized.parameters('parquet', 'file', 'stream')
  def test_reads_the_requested_columns_of_every_row(self, kind):
    path = os.path.join(self.create_tempdir(), 'x')
    rows = [{'ID': i, 'text': None, 'vector': [0.5]} for i in range(3000)]
    table = pa.Table.from_pylist(rows)
    if kind == 'parquet':
      parquet.write_table(table, path)
    else:
      new = pa.ipc.new_file if kind == 'file' else pa.ipc.new_stream
      with new(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=1999)
    found = list(datasets.read_table(path, {'id', 'text'}))
    self.assertEqual(
      found[-1], (f'{path}, row 3000', {'ID': 2999, 'text': None})
    )
    self.assertLen(found, 3000)
    os.truncate(path, os.path.getsize(path) // 2)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be a Parquet'):
      list(datasets.read_table(path, {'id'}))


class ReadFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def test_reads_articles_with_their_ids(self):
    _save(self._folder, _RECORDS)
    self.assertEqual(
      list(sources.read_articles([f'hf_disk:{self._folder}'])),
      [
        sources.Article('Zürich', 'A city.', '7'),
        sources.Article('Bern', 'B.', '9'),
      ],
    )

  def test_reads_questions_of_a_split(self):
    with open(os.path.join(self._folder, 'dataset_dict.json'), 'w') as file:
      json.dump({'splits': ['train', 'validation']}, file)
    _save(os.path.join(self._folder, 'train'), [])
    _save(os.path.join(self._folder, 'validation'), _SQUAD)
    self.assertEqual(
      questions.read_questions(f'hf_disk:{self._folder}@validation'),
      [questions.Question('Who?', ('B', 'C'), question_id='x')],
    )
    with self.assertRaisesRegex(errors.UserError, 'test/state.json must be'):
      questions.read_questions(f'hf_disk:{self._folder}@test')

  def test_a_cut_file_is_a_user_error_when_it_is_reached(self):
    _save(self._folder, _RECORDS)
    path = os.path.join(self._folder, 'data-00001-of-00002.arrow')
    os.truncate(path, os.path.getsize(path) // 2)
    found = datasets.read(f'hf_disk:{self._folder}', {'title'})
    self.assertEqual(next(found)[1], {'title': 'Zürich'})
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be'):
      next(found)

  @parameterized.parameters(
    '[]', '{', '{"_data_files": 3}', '{"_data_files": [3]}'
  )
  def test_another_state_is_a_user_error(self, state):
    path = os.path.join(self._folder, 'state.json')
    with open(path, 'w') as file:
      file.write(state)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must'):
      list(datasets.read(f'hf_disk:{self._folder}', ()))


_REALM = 'tfds:salient_span_wikipedia/sentences'


def _holding(*records, asked=None):
  """Makes every dataset hold `records`; appends the splits to `asked`."""

  def as_dataset(builder, split=None, **_):
    del builder
    if asked is not None:
      asked.append(split)
    return functools.reduce(
      tf.data.Dataset.concatenate, map(tf.data.Dataset.from_tensors, records)
    )

  return tfds.testing.mock_data(as_dataset_fn=as_dataset)


def _articles(name):
  return sources.read_articles([name])


class DatasetsTest(parameterized.TestCase):
  @parameterized.parameters(
    'wikipedia/20230601.en', 'wiki40b/en', 'salient_span_wikipedia/documents'
  )
  def test_reads_articles_as_tfds_describes_them(self, name):
    with tfds.testing.mock_data(num_examples=3):
      articles = list(_articles(f'tfds:{name}'))
    self.assertEqual([a.article_id for a in articles], ['0', '1', '2'])

  def test_marks_of_wiki40b_become_a_title_and_lines(self):
    text = (
      '\n_START_ARTICLE_\nBern\n_START_SECTION_\nHistory\n'
      '_START_PARAGRAPH_\nOld._NEWLINE_Very.'
    )
    with _holding({'text': text}):
      (article,) = _articles('tfds:wiki40b/en')
    self.assertEqual(article[:2], ('Bern', 'History\n\nOld.\nVery.'))

  @parameterized.parameters(
    'natural_questions_open', 'web_questions', 'squad', 'trivia_qa/rc.nocontext'
  )
  def test_reads_questions_as_tfds_describes_them(self, name):
    with tfds.testing.mock_data(num_examples=3):
      found = questions.read_questions(f'tfds:{name}', may_lack_answers=True)
    self.assertLen(found, 3)
    for question in found:
      for text in (question.question, question.question_id, *question.answers):
        self.assertIsInstance(text, str)

  def test_tfds_describes_tagged_sentences_as_they_are_read(self):
    features = tfds.builder(_REALM.removeprefix('tfds:')).info.features
    self.assertContainsSubset(['text', 'spans'], features)
    self.assertContainsSubset(['start', 'limit'], features['spans'].feature)

  @parameterized.parameters(
    ('squad', 'train'),
    ('squad@validation', 'validation'),
    ('squad/v1.1:3.0.0@train[:5%]', 'train[:5%]'),
  )
  def test_a_split_may_be_named(self, name, split):
    asked = []
    with _holding({'question': 'a', 'answers': ['b']}, asked=asked):
      questions.read_questions(f'tfds:{name}')
    self.assertEqual(asked, [split])

  def test_spans_in_bytes_become_spans_in_characters(self):
    spans = {'start': [0, 8, 1], 'limit': [7, 12, 7], 'type': ['L', 'D', 'X']}
    # 'ü' has bytes 1 and 2: the span [1, 7) includes both.
    record = {'title': 'T', 'text': 'Zürich 1969.', 'spans': spans}
    counts = counts_lib.Counts()
    with _holding(record):
      (first,) = sources.read_tagged([_REALM], counts)
    self.assertEqual(
      [first.text[start:end] for start, end in first.spans],
      ['Zürich', '1969', 'ürich'],
    )
    self.assertEqual(first.title, 'T')
    self.assertEqual(counts.kept, {'sentences': 1})

  def test_tagged_sentences_must_come_from_tfds(self):
    with self.assertRaisesRegex(errors.UserError, "must be 'tfds:NAME'"):
      list(sources.read_tagged(['hf_disk:/data']))

  @parameterized.parameters(
    (_articles, 'natural_questions_open', "must have one of 'text'"),
    (questions.read_questions, 'wiki40b/en', "must have 'answers'"),
    (datasets.read_tagged_sentences, 'wiki40b/en', 'must have tagged sent'),
    (questions.read_questions, 'no_such_dataset', 'must be a dataset'),
  )
  def test_the_wrong_dataset_is_a_user_error(self, read, name, message):
    with (
      tfds.testing.mock_data(num_examples=1),
      self.assertRaisesRegex(errors.UserError, message),
    ):
      list(read(f'tfds:{name}'))


if __name__ == '__main__':
  absltest.main()
