"""Tests for realm_tf.corpus.arrow_folder, with the readers that use it."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import pyarrow as pa

from realm_tf import errors
from realm_tf.corpus import arrow_folder
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
  """Writes what `Dataset.save_to_disk` does, a file for each record."""
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


class ArrowFolderTest(parameterized.TestCase):
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
    records = arrow_folder.read(self._folder, 'train')
    self.assertEqual(next(records)['title'], 'Zürich')
    with self.assertRaisesRegex(errors.UserError, f'^{path} must be'):
      next(records)

  def test_other_records_are_a_user_error(self):
    _save(self._folder, _SQUAD)
    with self.assertRaisesRegex(errors.UserError, 'must have articles'):
      list(sources.read_articles([f'hf_disk:{self._folder}']))

  def test_reads_what_the_library_saves(self):
    try:
      import datasets  # pylint: disable=g-import-not-at-top
    except ImportError:
      self.skipTest('The datasets library is not installed.')
    saved = datasets.Dataset.from_list(_ARTICLES * 3).select([4, 1])
    datasets.DatasetDict(train=saved).save_to_disk(
      self._folder, num_shards={'train': 2}
    )
    found = list(arrow_folder.read(self._folder, 'train'))
    self.assertEqual(found, [_ARTICLES[0], _ARTICLES[1]])


if __name__ == '__main__':
  absltest.main()
