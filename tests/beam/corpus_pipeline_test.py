"""Tests for realm_tf.beam.corpus_pipeline, on Beam's DirectRunner."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized

from realm_tf import errors
from realm_tf.beam import corpus_pipeline
from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import corpus_files
from tests import tiny

_MAX = tiny.MAX_BLOCK_WORDPIECES
_LETTERS = 'abcdef'


def _articles(first, number):
  """Returns articles; numbers that differ by 100 have the same title."""
  return [
    {
      'title': ' '.join(_LETTERS[(i % 100) // 6**j % 6] for j in range(3)),
      'text': f'A b. C {_LETTERS[i % 6]}. E f. A a.',
    }
    for i in range(first, first + number)
  ]


class CorpusPipelineTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.inputs = os.path.join(self.directory, 'in')
    os.makedirs(self.inputs)

  def _write_input(self, name, articles):
    with open(os.path.join(self.inputs, name), 'w') as file:
      file.writelines(json.dumps(article) + '\n' for article in articles)

  def _cut(self, *options, skip_errors=False):
    """Cuts with Beam and returns the manifest."""
    counts = counts_lib.Counts(skip_errors)
    batches = corpus_pipeline.build(
      reading_lib.Reading(
        [self.inputs],
        'auto',
        True,
        skip_errors,
        os.path.join(self.directory, 'work'),
        ['--runner=DirectRunner', *options],
      ),
      (tiny.TOKENIZER, _MAX),
      counts,
    )
    return self._write('beam', batches, counts)

  def _cut_here(self):
    counts = counts_lib.Counts()
    articles = sources.read_articles([self.inputs], 'auto', True, counts)
    batches = corpus_files.cut(articles, tiny.TOKENIZER, _MAX)
    return self._write('local', batches, counts)

  def _write(self, name, batches, counts):
    return corpus_files.write(
      corpus_files.without_duplicates(batches, counts),
      os.path.join(self.directory, name),
      tiny.TOKENIZER,
      source={'kept': counts.kept, 'left_out': counts.left_out},
      max_block_wordpieces=_MAX,
    )

  @parameterized.parameters('in_memory', 'multi_processing')
  def test_same_corpus_as_without_beam(self, mode):
    # Articles get numbers as ids; some are duplicates, and one is a list.
    for i, number in enumerate([120, 0, 30, 1]):
      self._write_input(f'{i}.jsonl', _articles(50 * i, number))
    self._write_input('4.jsonl', [{'title': 'List of a', 'text': 'A.'}])
    self._write_input('5.jsonl', [{'title': 'f f f', 'text': 'F f.'}])
    expected = self._cut_here()
    self.assertNotEmpty(expected['source']['left_out'])
    found = self._cut('--direct_num_workers=2', f'--direct_running_mode={mode}')
    self.assertEqual(found, expected)
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'work')))

  def test_a_bad_record_is_a_user_error_or_skipped(self):
    self._write_input('0.jsonl', _articles(0, 3))
    path = os.path.join(self.inputs, '1.jsonl')
    with open(path, 'w') as file:
      file.write('{"title": "a", "text": "B."}\n{"title": "a"')
    with self.assertRaisesRegex(errors.UserError, f'^{path}:2 must be JSON'):
      self._cut()
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'work')))
    self.assertFalse(os.path.exists(os.path.join(self.directory, 'beam')))
    source = self._cut(skip_errors=True)['source']
    self.assertEqual(source['kept'], {'articles': 4})
    self.assertEqual(source['left_out'][counts_lib.UNREADABLE], 1)

  def test_a_failure_of_beam_is_a_user_error_of_one_line(self):
    self._write_input('0.jsonl', _articles(0, 3))
    with self.assertRaisesRegex(
      errors.UserError, '^Beam must run with .*NoSuchRunner.*Check --runner.*$'
    ):
      self._cut('--runner=NoSuchRunner')

  def test_a_missing_file_is_a_user_error(self):
    os.rmdir(self.inputs)
    with self.assertRaisesRegex(errors.UserError, 'Found nothing at'):
      self._cut()

  def test_an_id_in_two_files_is_a_user_error(self):
    article = {'id': 'x', **_articles(0, 1)[0]}
    self._write_input('0.jsonl', [article])
    (batch,) = corpus_files.cut(
      sources.read_articles([self.inputs]), tiny.TOKENIZER, _MAX
    )
    batches = corpus_pipeline.with_different_ids([batch, batch])
    with self.assertRaisesRegex(errors.UserError, "'x' of .*another file"):
      list(batches)


if __name__ == '__main__':
  absltest.main()
