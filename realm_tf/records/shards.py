"""Corpus directories: blocks as sharded TFRecords, their table and manifest.

manifest.json   schema_version, num_blocks, vocabulary_sha256, source, files,
                corpus_fingerprint, max_block_wordpieces, shard_blocks
vocab.txt       the vocabulary of the blocks' wordpieces; its rules, if not the
                default, in tokenizer_config.json
blocks-00000.tfrecord ...   the blocks in order, shard_blocks[i] in shard i
table/          the same blocks, memory-mapped (records/block_table.py)
links/          if asked for: links between articles (records/link_graph.py)
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Optional

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import blocks as blocks_lib
from realm_tf.records import block_table
from realm_tf.records import corpus_links
from realm_tf.records import corpus_writer
from realm_tf.records import encoded_blocks
from realm_tf.records import schema
from realm_tf.rundir import manifests
from realm_tf.text import tokenizer_files
from realm_tf.text import wordpiece


class CorpusManifest(NamedTuple):
  """Description of a corpus in its manifest.

  Attributes:
    num_blocks: N.
    vocabulary_sha256: Fingerprint of the vocabulary and its rules.
    corpus_fingerprint: SHA-256 of the ordered blocks, wordpieces included; an
      index belongs to one fingerprint.
    max_block_wordpieces: Upper bound of 3 + title + body.
    shard_blocks: Number of blocks in each TFRecord file.
    source: Source of the articles.
  """

  num_blocks: int
  vocabulary_sha256: str
  corpus_fingerprint: str
  max_block_wordpieces: int
  shard_blocks: list[int]
  source: dict[str, Any]


def write_corpus(
  blocks: Iterable[blocks_lib.Block], *arguments, **keywords
) -> CorpusManifest:
  """Encodes blocks and writes them; see `write_encoded`."""
  batches = encoded_blocks.encode_all(blocks)
  return write_encoded(batches, *arguments, **keywords)


def write_encoded(
  batches: Iterable[encoded_blocks.EncodedBlocks],
  output_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  source: dict[str, Any],
  max_shard_blocks: int = 100_000,
  max_block_wordpieces: int = 288,
  links: Optional[corpus_links.CorpusLinks] = None,
) -> CorpusManifest:
  """Writes or replaces a corpus directory in one pass.

  Args:
    source: Source of the articles; read last, so it may hold counts that grow
      while `batches` are made.
    max_block_wordpieces: Upper bound of 3 + title + body.
    links: Links between the articles, found once all are written.

  Raises:
    UserError: There are no blocks.
  """

  def fill(writer: corpus_writer.CorpusWriter):
    for batch in batches:
      writer.extend(batch)

  return write(
    fill,
    output_dir,
    tokenizer,
    source,
    max_shard_blocks,
    max_block_wordpieces,
    links,
  )


def write(
  fill: Callable[[corpus_writer.CorpusWriter], None],
  output_dir: str,
  tokenizer: wordpiece.WordpieceTokenizer,
  source: dict[str, Any],
  max_shard_blocks: int,
  max_block_wordpieces: int,
  links: Optional[corpus_links.CorpusLinks] = None,
) -> CorpusManifest:
  """Writes the blocks that `fill` appends; see `write_encoded`."""
  with manifests.publishing(output_dir) as (staging, manifest):
    writer = corpus_writer.CorpusWriter(staging, max_shard_blocks)
    try:
      fill(writer)
    finally:
      fingerprint = writer.close()
    num_blocks = sum(writer.shard_blocks)
    if not num_blocks:
      raise errors.UserError(
        'A corpus needs at least one block; the articles of --input have no '
        'text. Check --input and --format.'
      )
    tokenizer_files.write(staging, tokenizer.vocabulary, tokenizer.rules)
    if links:
      manifest['links'] = links.write(staging)
    result = CorpusManifest(
      num_blocks,
      tokenizer.vocabulary_sha256,
      fingerprint,
      max_block_wordpieces,
      writer.shard_blocks,
      source,
    )
    manifest.update(
      schema_version=block_table.SCHEMA_VERSION, **result._asdict()
    )
  return result


def read_manifest(corpus_dir: str) -> CorpusManifest:
  """Reads and checks a corpus directory's manifest, shards included."""
  manifest = block_table.read_manifest(corpus_dir)
  manifests.require_files(
    manifest,
    [
      corpus_writer.shard_path('', shard)
      for shard in range(len(manifest['shard_blocks']))
    ],
    corpus_dir,
    f'Make it again with {block_table.KIND.made_by}.',
  )
  return CorpusManifest(*(manifest[name] for name in CorpusManifest._fields))


def read_blocks(corpus_dir: str) -> Iterator[blocks_lib.Block]:
  """Yields all blocks from the TFRecords, in the order of their ids."""
  for shard in range(len(read_manifest(corpus_dir).shard_blocks)):
    path = corpus_writer.shard_path(corpus_dir, shard)
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
      yield schema.decode_block(record)
