"""Tests for realm_tf.beam.pipelines, on DirectRunner and Dask."""

import glob
import json
import os
import signal
import threading

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import pytest

from realm_tf import errors
from realm_tf.beam import pipelines
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import corpus_files
from realm_tf.data import query_table
from realm_tf.index import index_builder
from realm_tf.index import storage
from realm_tf.training import taggers
from tests import tiny
from tests.index import small

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
    return pipelines.Reading(
      [self.inputs], 'auto', True, skip_errors, work_dir, options
    )


class CorpusPipelineTest(_PipelineTest):
  def _cut(self, *options, skip_errors=False):
    """Cuts with Beam and returns the manifest."""
    counts = counts_lib.Counts(skip_errors)
    reading = self._reading(options, skip_errors)
    batches = pipelines.cut(reading, (tiny.TOKENIZER, _MAX), counts)
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

  def test_an_id_in_two_files_is_a_user_error(self):
    article = {'id': 'x', **_articles(0, 1)[0]}
    self._write_input('0.jsonl', [article])
    (batch,) = corpus_files.cut(
      sources.read_articles([self.inputs]), tiny.TOKENIZER, _MAX
    )
    batches = pipelines.with_different_ids([batch, batch])
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
    tagging = self.corpus, tagger
    queries = pipelines.tag(self._reading(options), tagging, counts)
    return list(queries), counts

  def _tag_here(self, tagger):
    counts = counts_lib.Counts()
    articles = sources.read_articles([self.inputs], 'auto', True, counts)
    queries = query_table.queries_from_articles(
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
    for name in ('kept', 'left_out'):
      self.assertEqual(getattr(found_counts, name), getattr(counts, name))
    self.assertEqual(found_counts.examples.keys(), counts.examples.keys())
    self.assertEqual(counts.left_out['list'], 1)
    # No file of the work is left.
    self.assertCountEqual(os.listdir(self.directory), ['corpus', 'in'])


_OVERRIDES = ['index.shard_blocks=2']
_NUM_SHARDS = 10
_DASK = '--runner=apache_beam.runners.dask.dask_runner.DaskRunner'


class IndexPipelineTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.temp = self.create_tempdir().full_path
    self.corpus = small.write_corpus(self.temp, range(3, 3 + 2 * _NUM_SHARDS))
    self.model = small.make_run(self.temp, self.corpus)
    self.params = small.publish_params(self.model, 1, small.model())
    self.builder = index_builder.open_builder(
      self.model, self.corpus, _OVERRIDES
    )
    self.root = os.path.join(self.temp, 'beam')

  def _begin(self):
    version, num_shards = self.builder.begin(self.params, self.root)
    self.assertEqual(num_shards, _NUM_SHARDS)
    return version

  def _embed(self, version, options):
    model = self.model, self.corpus, _OVERRIDES
    pipelines.embed(model, version, _NUM_SHARDS, options)

  def _done(self, version):
    return glob.glob(os.path.join(version.path, 'work-*', '*.done'))

  def _check(self, version):
    """Checks that workers made all shards, equal to shards made here."""
    self.assertLen(self._done(version), _NUM_SHARDS)
    self.builder.publish(self.params, self.root)
    local = self.builder.publish(
      self.params, os.path.join(self.temp, 'local')
    ).path
    fingerprint = self.builder.corpus_fingerprint
    np.testing.assert_array_equal(
      storage.load(version.path, fingerprint).embeddings[:],
      storage.load(local, fingerprint).embeddings[:],
    )
    for name in ('corpus_fingerprint', 'params_fingerprint'):
      self.assertEqual(
        storage.read_manifest(version.path)[name],
        storage.read_manifest(local)[name],
      )

  def test_two_threads_agree_with_one(self):
    version = self._begin()
    options = ['--runner=DirectRunner', '--direct_num_workers=2']
    options.append('--direct_running_mode=multi_threading')
    self._embed(version, options)
    self._check(version)

  def test_dask_makes_all_shards_even_if_a_worker_is_killed(self):
    distributed = pytest.importorskip('distributed')
    version = self._begin()
    with distributed.LocalCluster(
      n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
      killed, ended = [], threading.Event()

      def kill():
        while not self._done(version) and not ended.wait(0.02):
          pass
        if len(self._done(version)) < _NUM_SHARDS:
          killed.append(cluster.workers[0].pid)
          os.kill(killed[0], signal.SIGKILL)

      thread = threading.Thread(target=kill)
      thread.start()
      try:
        address = f'--dask_client_address={cluster.scheduler_address}'
        options = [_DASK, address, '--dask_partition_size=1']
        self._embed(version, options)
      finally:
        ended.set()
        thread.join()
    self.assertLen(killed, 1)
    self._check(version)


if __name__ == '__main__':
  absltest.main()
