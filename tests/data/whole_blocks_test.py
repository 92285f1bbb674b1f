"""Tests for realm_tf.data.whole_blocks."""

import os

from absl.testing import absltest
from absl.testing import parameterized
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import sources
from realm_tf.data import block_table
from realm_tf.data import joining
from realm_tf.data import whole_blocks
from tests import tiny

# Titles have 2, 1 and 5 wordpieces, and bodies 3, 6 and 2. At most 3 of a title
# count, so embedding needs 8, 10 and 8.
_ARTICLES = (
  sources.Article('a b', 'A b.', '0'),
  sources.Article('c', 'C d e f a.', '1'),
  sources.Article('a b c d e', 'F.', '2'),
)
_BOUND = 12
_TITLE_TOKENS = 3
_CONFIG = tiny.config(
  lengths={
    'query_tokens': 5,
    'block_tokens': 10,
    'joint_tokens': 12,  # Less [CLS], 3 of x and both [SEP]: 6 for the body.
    'question_tokens': 4,
    'title_tokens': _TITLE_TOKENS,
  }
)


def _lengths(**changes):
  return tiny.changed(_CONFIG.lengths, **changes)


def _pretraining(**changes):
  config = tiny.changed(_CONFIG, lengths=changes)
  return config.lengths, whole_blocks.of_pretraining(config)


def _finetuning(joint_tokens, read_titles):
  changes = {'joint_tokens': joint_tokens, 'read_titles': read_titles}
  config = tiny.changed(_CONFIG, finetuning=changes)
  return config.lengths, whole_blocks.of_finetuning(config)


class WholeBlocksTest(parameterized.TestCase):
  def setUp(self):
    super().setUp()
    self.table = self._write(_BOUND, _BOUND)

  def _write(self, bound, said):
    corpus_dir = os.path.join(self.create_tempdir(), 'corpus')
    tiny.write_blocks(
      tiny.cut(_ARTICLES, max_block_wordpieces=bound),
      corpus_dir,
      max_block_wordpieces=said,
    )
    return block_table.BlockTable.open(corpus_dir)

  def _accepts(self, lengths, reading=None):
    try:
      whole_blocks.check(self.table, lengths, reading)
      return True
    except errors.UserError:
      return False

  def _packed(self, length, query=0, has_title=True):
    """Returns how many wordpieces the packer keeps of the three blocks."""
    titles, bodies = map(
      tf.constant, self.table.gather(np.arange(3), _TITLE_TOKENS, 20)
    )
    first = titles[:, None] if has_title else None
    if not query:
      joint = joining.pack(titles, bodies, *tiny.SPECIAL_IDS, length)
    else:
      joint = joining.pack_pairs(
        tf.fill([3, query], 5),
        bodies[:, None],
        *tiny.SPECIAL_IDS,
        length,
        first,
      )
    return int(joint['input_mask'].numpy().sum())

  @parameterized.parameters(*range(8, 19))
  def test_accepts_where_the_packer_cuts_nothing(self, tokens):
    def is_whole(*what):
      return self._packed(tokens, *what) == self._packed(50, *what)

    # Of an embedder: 8, 10 and 8 wordpieces.
    self.assertEqual(is_whole(), tokens >= 10)
    self.assertEqual(self._accepts(_lengths(block_tokens=tokens)), is_whole())
    # Of a reader: the longest body has 6 wordpieces, and x has 3.
    self.assertEqual(is_whole(3, False), tokens >= 3 + 3 + 6)
    accepts = self._accepts(*_pretraining(joint_tokens=tokens))
    self.assertEqual(accepts, is_whole(3, False))
    # A question has 4; the title of the longest block adds 1 and a [SEP].
    for titles in (False, True):
      self.assertEqual(is_whole(4, titles), tokens >= 4 + 3 + 6 + 2 * titles)
      accepts = self._accepts(*_finetuning(tokens, titles))
      self.assertEqual(accepts, is_whole(4, titles))

  def test_says_what_is_cut_and_what_to_do(self):
    with self.assertRaisesRegex(
      errors.UserError,
      '1 of 3 blocks that need more than lengths.block_tokens=9, up to 10. .*'
      '--max_block_wordpieces=9, train with lengths.block_tokens=10, .*'
      '--set=lengths.cut_blocks=true',
    ):
      whole_blocks.check(self.table, _lengths(block_tokens=9))

  def test_the_bound_that_it_names_is_one_that_fits(self):
    # 12 - 4 - 3 = 5 are left for a body: 8 with [CLS] and two [SEP].
    with self.assertRaisesRegex(errors.UserError, 'max_block_wordpieces=8,'):
      whole_blocks.check(self.table, *_finetuning(12, False))
    self.table = self._write(8, 288)  # 288: blocks are measured.
    self.assertTrue(self._accepts(*_finetuning(12, False)))

  def test_allowed_cutting_warns_once(self):
    lengths, reading = _pretraining(
      block_tokens=9, joint_tokens=11, cut_blocks=True
    )
    with self.assertLogs('absl', 'WARNING') as logs:
      whole_blocks.check(self.table, lengths, reading)
    (line,) = logs.output
    self.assertRegex(line, 'block_tokens=9, up to 10; 1 .*joint_tokens=11')

  def test_a_manifest_that_fits_is_trusted(self):
    # The manifest of this test understates the longest block.
    self.table = self._write(_BOUND, 9)
    self.assertTrue(self._accepts(_lengths(block_tokens=9)))


if __name__ == '__main__':
  absltest.main()
