"""The flags of a corpus and of a search in it, and access to it."""

from __future__ import annotations

from . import launcher

from absl import flags

from realm_tf.config import names
from realm_tf.data import block_table
from realm_tf.run import layout
from realm_tf.text import wordpiece

CORPUS_DIR = launcher.existing_path(
  'corpus_dir', 'Corpus directory, from bin.make_blocks.', required=True
)


def define_retriever(*others: str) -> flags.FlagHolder:
  """Defines --retriever, of these values and `others`."""
  return flags.DEFINE_enum(
    'retriever',
    names.MODEL,
    [names.MODEL, *names.BY_LINKS, *names.BY_WORDS, *others],
    'Search; graph and path follow links.',
  )


def open_table(verify: bool = False) -> block_table.BlockTable:
  return block_table.BlockTable.open(CORPUS_DIR.value, verify)


def tokenizer() -> wordpiece.WordpieceTokenizer:
  vocab_file = layout.vocab_file(CORPUS_DIR.value)
  return wordpiece.WordpieceTokenizer.from_file(vocab_file)
