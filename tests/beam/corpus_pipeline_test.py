"""Tests for realm_tf.beam.{corpus,query}_pipeline, on DirectRunner."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf import errors
from realm_tf.beam import corpus_pipeline
from realm_tf.beam import query_pipeline
from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import query_building
from realm_tf.training import taggers
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


class _PipelineTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.inputs = os.path.join(self.directory, 'in')
    os.makedirs(self.inputs)

  def _write_input(self, name, articles):
    with open(os.path.join(self.inputs, name), 'w') as file:
      file.writelines(json.dumps(article) + '\n' for article in articles)

  def _reading(self, options, skip_errors=False):
    work_dir = os.path.join(self.directory, 'work')
    options = ['--runner=DirectRunner', *options]
    return reading_lib.Reading(
      [self.inputs], 'auto', True, skip_errors, work_dir, options
    )


class CorpusPipelineTest(_PipelineTest):
  def _cut(self, *options, skip_errors=False):
    """Cuts with Beam and returns the manifest."""
    counts = counts_lib.Counts(skip_errors)
    reading = self._reading(options, skip_errors)
    batches = corpus_pipeline.build(reading, (tiny.TOKENIZER, _MAX), counts)
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

  def test_same_corpus_as_without_beam(self):
    # Articles get numbers as ids; some are duplicates, and one is a list.
    for i, number in enumerate([120, 0, 30, 1]):
      self._write_input(f'{i}.jsonl', _articles(50 * i, number))
    self._write_input('4.jsonl', [{'title': 'List of a', 'text': 'A.'}])
    self._write_input('5.jsonl', [{'title': 'f f f', 'text': 'F f.'}])
    expected = self._cut_here()
    self.assertNotEmpty(expected['source']['left_out'])
    self.assertEqual(self._cut(), expected)
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


_IN_CORPUS = sources.Article('a', 'A b c d. In 1999 a b c d e f.', 'a')


class QueryPipelineTest(_PipelineTest):
  def setUp(self):
    super().setUp()
    self.corpus = os.path.join(self.directory, 'corpus')
    cut = tiny.cut([_IN_CORPUS], max_block_wordpieces=40)
    tiny.write_blocks(cut, self.corpus)
    self.table = block_table.BlockTable.open(self.corpus)
    # Articles with and without own blocks, and a list.
    for name, articles in (
      ('0', [_IN_CORPUS[:2], ('d', 'It is a b c of 17 March 1999.')]),
      ('1', []),
      ('2', [('List of a', 'A b.')] + [('e', 'In May 2001 a b c d e f.')] * 30),
    ):
      records = [{'title': title, 'text': text} for title, text in articles]
      self._write_input(f'{name}.jsonl', records)

  def _tag(self, tagger, *options):
    counts = counts_lib.Counts()
    tagging = query_pipeline.Tagging(self.corpus, tagger)
    queries = query_pipeline.build(self._reading(options), tagging, counts)
    return list(queries), counts

  def _tag_here(self, tagger):
    counts = counts_lib.Counts()
    articles = sources.read_articles([self.inputs], 'auto', True, counts)
    queries = query_building.queries_from_articles(
      articles, tiny.TOKENIZER, tagger, self.table, counts
    )
    return list(queries), counts

  @parameterized.parameters(
    ('in_memory', None), ('multi_processing', 'rules+terms')
  )
  def test_same_queries_as_without_beam(self, mode, tagger):
    expected, counts = self._tag_here(
      tagger
      and taggers.make(tagger, find_terms=lambda: taggers.terms_of(self.table))
    )
    self.assertGreater(len(expected), 30)
    self.assertIn(0, [query.own_block for query in expected])
    found, found_counts = self._tag(
      tagger, '--direct_num_workers=2', f'--direct_running_mode={mode}'
    )
    for one, other in zip(found, expected, strict=True):
      np.testing.assert_array_equal(one.ids, other.ids)
      np.testing.assert_array_equal(one.spans, other.spans)
      self.assertEqual((one.own_block, one.text), (other.own_block, other.text))
    for name in ('kept', 'left_out', 'spans'):
      self.assertEqual(getattr(found_counts, name), getattr(counts, name))
    self.assertEqual(found_counts.examples.keys(), counts.examples.keys())
    self.assertEqual(counts.left_out['list'], 1)
    # No file of the work is left.
    self.assertCountEqual(os.listdir(self.directory), ['corpus', 'in'])


if __name__ == '__main__':
  absltest.main()
