"""Tests for realm_tf.corpus.arrow_records, with the readers that use it."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import pyarrow as pa
from pyarrow import parquet

from realm_tf import errors
from realm_tf.corpus import arrow_records
from realm_tf.corpus import questions
from realm_tf.corpus import sources

_ARTICLES = [
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
    found = list(arrow_records.read(path, {'id', 'text'}))
    self.assertEqual(
      found[-1], (f'{path}, row 3000', {'ID': 2999, 'text': None})
    )
    self.assertLen(found, 3000)
    os.truncate(path, os.path.getsize(path) // 2)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be a Parquet'):
      list(arrow_records.read(path, {'id'}))


class ReadFolderTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self._folder = self.create_tempdir().full_path

  def test_reads_articles_with_their_ids(self):
    _save(self._folder, _ARTICLES)
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
    _save(self._folder, _ARTICLES)
    path = os.path.join(self._folder, 'data-00001-of-00002.arrow')
    os.truncate(path, os.path.getsize(path) // 2)
    records = arrow_records.read_folder(self._folder, 'train', {'title'})
    self.assertEqual(next(records)[1], {'title': 'Zürich'})
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be'):
      next(records)

  @parameterized.parameters(
    '[]', '{', '{"_data_files": 3}', '{"_data_files": [3]}'
  )
  def test_another_state_is_a_user_error(self, state):
    path = os.path.join(self._folder, 'state.json')
    with open(path, 'w') as file:
      file.write(state)
    with self.assertRaisesRegex(errors.UserError, f'^{path} must'):
      list(arrow_records.read_folder(self._folder, 'train', ()))

  def test_other_records_are_a_user_error(self):
    _save(self._folder, _SQUAD)
    with self.assertRaisesRegex(errors.UserError, 'must have one of .text'):
      list(sources.read_articles([f'hf_disk:{self._folder}']))

  def test_reads_files_of_the_datasets_library(self):
    try:
      import datasets  # pylint: disable=g-import-not-at-top
    except ImportError:
      self.skipTest('The datasets library is not installed.')
    saved = datasets.Dataset.from_list(_ARTICLES * 3).select([4, 1])
    datasets.DatasetDict(train=saved).save_to_disk(
      self._folder, num_shards={'train': 2}
    )
    found = arrow_records.read_folder(self._folder, 'train', {'text'})
    self.assertEqual([record['text'] for _, record in found], ['A city.', 'B.'])


if __name__ == '__main__':
  absltest.main()
