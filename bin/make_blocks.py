r"""Cuts articles into blocks and writes a corpus directory.

  python -m bin.make_blocks --input='wiki/*.jsonl.gz' \
      --vocab_file=vocab.txt --output_dir=/tmp/corpus
  python -m bin.make_blocks --append=/tmp/corpus --input=new.jsonl \
      --remove=17,old-article --output_dir=/tmp/newer_corpus

--input=world writes the embedded default corpus. Without --vocab_file a
vocabulary is learned from the articles, which are then read twice. Queries of
another text have words that no article has: give that text as --vocab_text.
--runner cuts on many machines, with Apache Beam; the blocks are the same.
"""

import os

from bin import append_flags
from bin import article_flags
from bin import beam_flags
from bin import launcher
from bin import vocabulary_flags

from absl import flags

from realm_tf.records import corpus_building
from realm_tf.records import shards
from realm_tf.rundir import manifests

_FORMAT = article_flags.define_format()
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New corpus directory.', required=True
)
_MAX_BLOCK_WORDPIECES = flags.DEFINE_integer(
  'max_block_wordpieces', 288, 'Upper bound of 3 + title + body.', lower_bound=8
)
_SHARD_BLOCKS = flags.DEFINE_integer(
  'shard_blocks', 100_000, 'Blocks of a TFRecord file.', lower_bound=1
)
_NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', os.cpu_count(), 'Processes that cut; no result depends on it.'
)
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace the corpus in --output_dir.'
)


def _cut(tokenizer, length, counts, first_number=0):
  """Returns the blocks of --input."""
  if not article_flags.INPUT.value:
    return iter([])
  if not beam_flags.is_local():
    begin = f'{_OUTPUT_DIR.value.rstrip("/")}.'
    return beam_flags.cut(
      (tokenizer.vocabulary, length), _FORMAT.value, begin, counts, first_number
    )
  articles = article_flags.read(
    'Cutting', _FORMAT.value, counts, plain=False, first_number=first_number
  )
  return corpus_building.build(
    articles, tokenizer, length, counts, _NUM_WORKERS.value
  )


def _write(source, counts) -> shards.CorpusManifest:
  output, size = _OUTPUT_DIR.value, _SHARD_BLOCKS.value
  if update := append_flags.update():
    length = update.manifest.max_block_wordpieces
    batches = _cut(update.tokenizer, length, counts, update.num_articles)
    return update.write(batches, output, source, counts, size)
  length = _MAX_BLOCK_WORDPIECES.value
  tokenizer = vocabulary_flags.tokenizer(_FORMAT.value)
  batches = _cut(tokenizer, length, counts)
  return shards.write_encoded(batches, output, tokenizer, source, size, length)


def main(_):
  manifests.check_output(_OUTPUT_DIR.value, _OVERWRITE.value)
  counts = article_flags.new_counts()
  source = {'format': _FORMAT.value, **article_flags.description(counts)}
  manifest = _write(source, counts)
  print(
    f'Wrote {manifest.num_blocks} blocks to {_OUTPUT_DIR.value}.'
    f'{counts.summary()}'
  )


if __name__ == '__main__':
  launcher.run(main)
