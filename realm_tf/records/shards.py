"""Corpus directories: blocks as sharded TFRecords, their table and manifest.

manifest.json   schema_version, num_blocks, vocabulary_sha256,
corpus_fingerprint, max_block_wordpieces, source, files
vocab.txt       the vocabulary of the blocks' wordpieces
blocks-00000-of-00004.tfrecord ...   block i is in shard i % num_shards
table/          the same blocks, memory-mapped (records/block_table.py)
"""

from collections.abc import Iterable, Iterator
import contextlib
import hashlib
import os
from typing import Any, NamedTuple

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.records import block_table
from realm_tf.records import encoded_blocks
from realm_tf.records import manifests
from realm_tf.records import schema
from realm_tf.text import wordpiece

_SCHEMA_VERSION = 1


class CorpusManifest(NamedTuple):
  """What manifest.json says about a corpus.

  Attributes:
    num_blocks: N.
    vocabulary_sha256: Of vocab.txt.
    corpus_fingerprint: SHA-256 over the ordered blocks, wordpieces included: an
      index belongs to one fingerprint.
    max_block_wordpieces: Upper bound of 3 + title + body.
    num_shards: Of the TFRecords.
    source: Where the articles came from.
  """

  num_blocks: int
  vocabulary_sha256: str
  corpus_fingerprint: str
  max_block_wordpieces: int
  num_shards: int
  source: dict[str, Any]


def write_corpus(
  blocks: Iterable[blocks_lib.Block], *arguments, **keywords
) -> CorpusManifest:
  """Writes blocks, encoded here, as `write_encoded` does."""
  batches = encoded_blocks.encode_all(blocks)
  return write_encoded(batches, *arguments, **keywords)


def write_encoded(
  batches: Iterable[encoded_blocks.EncodedBlocks],
  output_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  source: dict[str, Any],
  num_shards: int = 4,
  max_block_wordpieces: int = 288,
) -> CorpusManifest:
  """Writes a corpus directory in one pass, replacing the one that is there.

  Args:
    batches: The blocks, in order.
    output_dir: Of the corpus.
    tokenizer: That of the blocks.
    source: Where they came from; written last, so it may hold counts that grow
      while `batches` are made.
    num_shards: TFRecord files.
    max_block_wordpieces: Upper bound of 3 + title + body.

  Raises:
    UserError: There are no blocks.
  """
  with manifests.publishing(output_dir) as (staging, manifest):
    num_blocks, fingerprint = _write_blocks(batches, staging, num_shards)
    if not num_blocks:
      raise errors.UserError(
        'A corpus needs at least one block; the articles of --input have no '
        'text. Check --input and --format.'
      )
    with open(os.path.join(staging, 'vocab.txt'), 'wb') as file:
      file.writelines(f'{piece}\n'.encode() for piece in tokenizer.vocabulary)
    result = CorpusManifest(
      num_blocks,
      tokenizer.vocabulary_sha256,
      fingerprint,
      max_block_wordpieces,
      num_shards,
      source,
    )
    manifest.update(schema_version=_SCHEMA_VERSION, **result._asdict())
  return result


def read_manifest(corpus_dir: str) -> CorpusManifest:
  """Reads and checks a corpus directory's manifest."""
  manifest = manifests.read(
    corpus_dir, 'a corpus directory', 'bin.make_blocks', 'num_blocks'
  )
  if manifest.get('schema_version') != _SCHEMA_VERSION:
    raise errors.UserError(
      f'{corpus_dir} must be a corpus of schema {_SCHEMA_VERSION}; it has '
      f'{manifest.get("schema_version")}. Make it again with '
      'bin.make_blocks.'
    )
  return CorpusManifest(*(manifest[name] for name in CorpusManifest._fields))


def read_blocks(corpus_dir: str) -> Iterator[blocks_lib.Block]:
  """Yields all blocks in the order of their ids, from the TFRecords."""
  manifest = read_manifest(corpus_dir)
  shards = [
    iter(tf.data.TFRecordDataset(path).as_numpy_iterator())
    for path in shard_paths(corpus_dir, manifest.num_shards)
  ]
  for block_id in range(manifest.num_blocks):
    yield schema.decode_block(next(shards[block_id % len(shards)]))


def shard_paths(corpus_dir: str, num_shards: int) -> list[str]:
  """Returns the paths of the TFRecord files."""
  return [
    os.path.join(corpus_dir, f'blocks-{shard:05d}-of-{num_shards:05d}.tfrecord')
    for shard in range(num_shards)
  ]


def _write_blocks(batches, staging: str, num_shards: int) -> tuple[int, str]:
  """Writes records and table; returns number of blocks and fingerprint."""
  digest, num_blocks = hashlib.sha256(), 0
  with contextlib.ExitStack() as stack:
    writers = [
      stack.enter_context(tf.io.TFRecordWriter(path))
      for path in shard_paths(staging, num_shards)
    ]
    table = block_table.BlockTableWriter(staging)
    stack.callback(table.close)
    for batch in batches:
      for record in batch.records:
        writers[num_blocks % num_shards].write(record)
        digest.update(hashlib.sha256(record).digest())
        num_blocks += 1
      table.extend(batch)
  return num_blocks, digest.hexdigest()
