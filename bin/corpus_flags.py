"""The flag of a corpus, and access to it."""

from __future__ import annotations

from . import launcher

from realm_tf.data import block_table
from realm_tf.run import layout
from realm_tf.text import wordpiece

CORPUS_DIR = launcher.existing_path(
  'corpus_dir', 'Corpus directory, from bin.make_blocks.', required=True
)


def open_table(verify: bool = False) -> block_table.BlockTable:
  return block_table.BlockTable.open(CORPUS_DIR.value, verify)


def tokenizer() -> wordpiece.WordpieceTokenizer:
  vocab_file = layout.vocab_file(CORPUS_DIR.value)
  return wordpiece.WordpieceTokenizer.from_file(vocab_file)
