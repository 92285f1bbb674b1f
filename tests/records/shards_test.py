"""Tests for realm_tf.records.{shards,schema,manifests}."""

import errno
import json
import os
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import blocks
from realm_tf.corpus import sources
from realm_tf.records import corpus_writer
from realm_tf.records import shards
from realm_tf.rundir import manifests
from realm_tf.text import character_rules
from realm_tf.text import wordpiece

_TOKENIZER = wordpiece.WordpieceTokenizer(
  ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]', '.', 'a', 'b', 'c']
)
_ARTICLES = [
  sources.Article('Á', 'A b. C a. B.', 'x'),
  sources.Article('B', 'C. 東 a.', 'y'),
]


def _blocks(articles=None):
  return list(blocks.cut_corpus(articles or _ARTICLES, _TOKENIZER, 8))


class ShardsTest(absltest.TestCase):
  def _write(self, articles=None, max_shard_blocks=2):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    manifest = shards.write_corpus(
      _blocks(articles),
      directory,
      _TOKENIZER,
      {'input': ['z']},
      max_shard_blocks,
      8,
    )
    return directory, manifest

  def test_blocks_come_back_in_order(self):
    # 4 tokens of body: [A b.] [C a.] and so on; more blocks than shards.
    directory, manifest = self._write(max_shard_blocks=3)
    self.assertEqual(manifest.num_blocks, len(_blocks()))
    self.assertEqual(manifest.shard_blocks, [3, 2])
    for got, expected in zip(
      shards.read_blocks(directory), _blocks(), strict=True
    ):
      self.assertEqual(got[:3], expected[:3])
      for got_ids, expected_ids in zip(got[3:], expected[3:]):
        np.testing.assert_array_equal(got_ids, expected_ids)
        self.assertEqual(got_ids.dtype, np.int32)

  def test_manifest_says_what_the_contract_asks(self):
    directory, manifest = self._write()
    with open(os.path.join(directory, 'manifest.json')) as file:
      content = json.load(file)
    self.assertContainsSubset(
      [
        'schema_version',
        'num_blocks',
        'vocabulary_sha256',
        'source',
        'corpus_fingerprint',
        'max_block_wordpieces',
        'files',
      ],
      content,
    )
    self.assertEqual(content['source'], {'input': ['z']})
    self.assertEqual(content['max_block_wordpieces'], 8)
    self.assertEqual(shards.read_manifest(directory), manifest)
    vocabulary = wordpiece.WordpieceTokenizer.from_file(
      os.path.join(directory, 'vocab.txt')
    )
    self.assertEqual(vocabulary.vocabulary_sha256, manifest.vocabulary_sha256)
    self.assertEqual(os.listdir(os.path.dirname(directory)), ['corpus'])

  def test_rules_go_with_the_vocabulary(self):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    cased = wordpiece.WordpieceTokenizer(
      _TOKENIZER.vocabulary, character_rules.CharacterRules(lowercase=False)
    )
    manifest = shards.write_corpus(_blocks(), directory, cased, {})
    found = wordpiece.WordpieceTokenizer.from_file(directory + '/vocab.txt')
    self.assertEqual(found.rules, cased.rules)
    self.assertEqual(found.vocabulary_sha256, manifest.vocabulary_sha256)
    self.assertNotEqual(found.vocabulary_sha256, _TOKENIZER.vocabulary_sha256)

  def test_fingerprint_is_of_the_ordered_content(self):
    fingerprint = self._write()[1].corpus_fingerprint
    self.assertEqual(
      self._write(max_shard_blocks=1)[1].corpus_fingerprint, fingerprint
    )
    self.assertNotEqual(
      self._write(_ARTICLES[::-1])[1].corpus_fingerprint, fingerprint
    )

  def test_no_blocks_is_a_user_error_and_leaves_nothing(self):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      shards.write_corpus([], directory, _TOKENIZER, {})
    self.assertEmpty(os.listdir(os.path.dirname(directory)))

  def test_truncated_file_is_a_user_error(self):
    directory, _ = self._write()
    path = corpus_writer.shard_path(directory, 1)
    with open(path, 'r+b') as file:
      file.truncate(5)
    with self.assertRaisesRegex(errors.UserError, f'{path}.*Found .*: 5'):
      shards.read_manifest(directory)

  def test_directory_without_manifest_is_a_user_error(self):
    with self.assertRaisesRegex(errors.UserError, 'must be a corpus directory'):
      shards.read_manifest(self.create_tempdir().full_path)

  def test_complete_output_is_refused_and_then_replaced(self):
    directory, old = self._write(max_shard_blocks=3)
    with self.assertRaisesRegex(errors.UserError, '--overwrite'):
      manifests.check_output(directory)
    manifests.check_output(directory, overwrite=True)
    stray = os.path.join(directory, 'notes.txt')
    with open(stray, 'w') as file:
      file.write('not ours')
    new = shards.write_corpus(
      _blocks(_ARTICLES[:1]), directory, _TOKENIZER, {}, 9, 8
    )
    self.assertNotEqual(old, new)
    self.assertLen(list(shards.read_blocks(directory)), new.num_blocks)
    self.assertFalse(os.path.exists(corpus_writer.shard_path(directory, 1)))
    self.assertTrue(os.path.exists(stray))

  def test_a_full_disk_is_a_user_error_and_leaves_nothing(self):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    with (
      self.assertRaisesRegex(errors.UserError, f'{directory}.*No space'),
      manifests.publishing(directory) as (staging, _),
    ):
      with open(os.path.join(staging, 'table'), 'w') as file:
        file.write('half')
      raise OSError(errno.ENOSPC, 'No space left on device')
    self.assertEmpty(os.listdir(os.path.dirname(directory)))

  def test_a_disk_that_fills_in_the_last_move_leaves_nothing(self):
    directory = os.path.join(self.create_tempdir(), 'corpus')
    moves = [os.replace] * 2 + [mock.Mock(side_effect=OSError('No space'))]
    with (
      mock.patch.object(os, 'replace', lambda *paths: moves.pop(0)(*paths)),
      self.assertRaisesRegex(errors.UserError, 'Nothing is left'),
    ):
      shards.write_corpus(_blocks(), directory, _TOKENIZER, {}, 2, 8)
    files = [f for _, _, names in os.walk(directory) for f in names]
    self.assertEqual(files, [])


if __name__ == '__main__':
  absltest.main()
