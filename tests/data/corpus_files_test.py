"""Tests for realm_tf.data.corpus_files."""

import errno
import os
from unittest import mock

from absl.testing import absltest
import numpy as np

from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.run import outputs
from realm_tf.text import character_table
from realm_tf.text import wordpiece
from tests import fakes
from tests import tiny

_TOKENIZER = fakes.tokenizer('. a b c')
_ARTICLES = [
  sources.Article('Á', 'A b. C a. B.', 'x'),
  sources.Article('B', 'C. 東 a.', 'y'),
]


class CorpusFilesTest(absltest.TestCase):
  def setUp(self):
    super().setUp()
    self.directory = os.path.join(self.create_tempdir(), 'corpus')
    # Bodies have at most 4 wordpieces: [A b.] [C a.] ...
    self.blocks = tiny.cut(_ARTICLES, _TOKENIZER, 8)

  def _write(self, blocks=None, tokenizer=_TOKENIZER):
    blocks = self.blocks if blocks is None else blocks
    return tiny.write_blocks(blocks, self.directory, tokenizer, 8)

  def test_blocks_come_back_in_order(self):
    self._write()
    table = block_table.BlockTable.open(self.directory)
    rows = range(table.num_blocks)
    self.assertEqual(table.titles(rows), [b.title for b in self.blocks])
    self.assertEqual(table.texts(rows), [b.text for b in self.blocks])
    self.assertEqual(table.article_ids(rows), ['x', 'x', 'x', 'y', 'y'])
    for row, block in enumerate(self.blocks):
      titles, bodies = table.gather(np.array(row), len(block.title_ids), 4)
      np.testing.assert_array_equal(titles, block.title_ids)
      np.testing.assert_array_equal(
        bodies[: len(block.body_ids)], block.body_ids
      )
      np.testing.assert_array_equal(
        table.sentence_ends(row), block.sentence_ends
      )

  def test_manifest_has_the_fields_of_the_contract(self):
    manifest = self._write()
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
      manifest,
    )
    self.assertEqual(manifest['num_blocks'], 5)
    self.assertEqual(manifest['max_block_wordpieces'], 8)
    self.assertEqual(block_table.read_manifest(self.directory), manifest)
    self.assertEqual(os.listdir(os.path.dirname(self.directory)), ['corpus'])

  def test_rules_are_written_with_the_vocabulary(self):
    cased = wordpiece.WordpieceTokenizer(
      _TOKENIZER.vocabulary, character_table.CharacterRules(lowercase=False)
    )
    manifest = self._write(tokenizer=cased)
    found = wordpiece.WordpieceTokenizer.from_file(
      self.directory + '/vocab.txt'
    )
    self.assertEqual(found.rules, cased.rules)
    self.assertEqual(found.vocabulary_sha256, manifest['vocabulary_sha256'])
    self.assertNotEqual(found.vocabulary_sha256, _TOKENIZER.vocabulary_sha256)

  def test_fingerprint_depends_on_content_and_order(self):
    fingerprints = {
      self._write(blocks)['corpus_fingerprint']
      for blocks in (
        self.blocks,
        self.blocks[::-1],
        self.blocks[:-1],
        [self.blocks[0]._replace(text='A b'), *self.blocks[1:]],
        [self.blocks[0]._replace(title='A'), *self.blocks[1:]],
        [self.blocks[0]._replace(article_id='z'), *self.blocks[1:]],
        [
          self.blocks[0]._replace(sentence_ends=np.array([1, 3])),
          *self.blocks[1:],
        ],
      )
    }
    self.assertLen(fingerprints, 7)
    self.assertIn(self._write()['corpus_fingerprint'], fingerprints)

  def test_no_blocks_is_a_user_error_and_leaves_nothing(self):
    with self.assertRaisesRegex(errors.UserError, 'at least one block'):
      self._write([])
    self.assertEmpty(os.listdir(os.path.dirname(self.directory)))

  def test_truncated_file_is_a_user_error(self):
    self._write()
    path = os.path.join(self.directory, 'table/texts.npy')
    with open(path, 'r+b') as file:
      file.truncate(5)
    with self.assertRaisesRegex(errors.UserError, f'{path}.*Found .*: 5'):
      block_table.read_manifest(self.directory)

  def test_complete_output_is_refused_and_then_replaced(self):
    old = self._write()
    with self.assertRaisesRegex(errors.UserError, '--overwrite'):
      outputs.check_new(self.directory)
    outputs.check_new(self.directory, overwrite=True)
    stray = os.path.join(self.directory, 'notes.txt')
    with open(stray, 'w') as file:
      file.write('not ours')
    new = self._write(self.blocks[:1])
    self.assertNotEqual(old, new)
    self.assertEqual(block_table.BlockTable.open(self.directory).num_blocks, 1)
    self.assertTrue(os.path.exists(stray))

  def test_a_full_disk_is_a_user_error_and_leaves_nothing(self):
    with (
      self.assertRaisesRegex(errors.UserError, f'{self.directory}.*No space'),
      outputs.publishing(self.directory) as (staging, _),
    ):
      with open(os.path.join(staging, 'table'), 'w') as file:
        file.write('half')
      raise OSError(errno.ENOSPC, 'No space left on device')
    self.assertEmpty(os.listdir(os.path.dirname(self.directory)))

  def test_a_disk_that_fills_in_the_last_move_leaves_nothing(self):
    moves = [os.replace] * 2 + [mock.Mock(side_effect=OSError('No space'))]
    with (
      mock.patch.object(os, 'replace', lambda *paths: moves.pop(0)(*paths)),
      self.assertRaisesRegex(errors.UserError, 'Nothing is left'),
    ):
      self._write()
    files = [f for _, _, names in os.walk(self.directory) for f in names]
    self.assertEqual(files, [])


if __name__ == '__main__':
  absltest.main()
