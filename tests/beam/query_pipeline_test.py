"""Tests for realm_tf.beam.query_pipeline, on Beam's DirectRunner."""

import json
import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np

from realm_tf.beam import query_pipeline
from realm_tf.beam import reading as reading_lib
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import query_building
from realm_tf.training import taggers
from tests import tiny

_IN_CORPUS = sources.Article('a', 'A b c d. In 1999 a b c d e f.', 'a')


class QueryPipelineTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = self.create_tempdir().full_path
    self.corpus = os.path.join(self.directory, 'corpus')
    cut = tiny.cut([_IN_CORPUS], max_block_wordpieces=40)
    tiny.write_blocks(cut, self.corpus)
    self.table = block_table.BlockTable.open(self.corpus)
    self.inputs = os.path.join(self.directory, 'in')
    os.makedirs(self.inputs)

  def _write_inputs(self):
    """Writes articles with and without own blocks, and a list."""
    for name, articles in (
      ('0', [_IN_CORPUS[:2], ('d', 'It is a b c of 17 March 1999.')]),
      ('1', []),
      ('2', [('List of a', 'A b.')] + [('e', 'In May 2001 a b c d e f.')] * 30),
    ):
      path = os.path.join(self.inputs, f'{name}.jsonl')
      with open(path, 'w') as file:
        file.writelines(
          json.dumps({'title': title, 'text': text}) + '\n'
          for title, text in articles
        )

  def _tag(self, tagger, *options):
    counts = counts_lib.Counts()
    queries = query_pipeline.build(
      reading_lib.Reading(
        [self.inputs],
        'auto',
        True,
        False,
        os.path.join(self.directory, 'work'),
        ['--runner=DirectRunner', *options],
      ),
      query_pipeline.Tagging(self.corpus, tagger),
      counts,
    )
    return list(queries), counts

  def _tag_here(self, tagger):
    counts = counts_lib.Counts()
    articles = sources.read_articles([self.inputs], 'auto', True, counts)
    queries = query_building.queries_from_articles(
      articles, tiny.TOKENIZER, tagger, self.table, counts
    )
    return list(queries), counts

  @parameterized.product(
    mode=['in_memory', 'multi_processing'], tagger=['rules+terms', None]
  )
  def test_same_queries_as_without_beam(self, mode, tagger):
    self._write_inputs()
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
    self.assertEqual(found_counts.kept, counts.kept)
    self.assertEqual(found_counts.left_out, counts.left_out)
    self.assertEqual(found_counts.spans, counts.spans)
    self.assertEqual(found_counts.examples.keys(), counts.examples.keys())
    self.assertEqual(counts.left_out['list'], 1)
    # No file of the work is left.
    self.assertCountEqual(os.listdir(self.directory), ['corpus', 'in'])


if __name__ == '__main__':
  absltest.main()
