"""Defines --corpus_dir of binaries that read a corpus, and opens it."""

from absl import flags

from realm_tf.records import block_table
from realm_tf.rundir import layout
from realm_tf.text import wordpiece

CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus directory, from bin.make_blocks.', required=True
)


def open_table(verify: bool = False) -> block_table.BlockTable:
  return block_table.BlockTable.open(CORPUS_DIR.value, verify)


def tokenizer() -> wordpiece.WordpieceTokenizer:
  vocab_file = layout.vocab_file(CORPUS_DIR.value)
  return wordpiece.WordpieceTokenizer.from_file(vocab_file)
