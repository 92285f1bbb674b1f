r"""Cuts articles into blocks and writes a corpus directory.

  python -m bin.make_blocks --input='wiki/*.jsonl.gz' \
      --vocab_file=vocab.txt --output_dir=/tmp/corpus

--input=world writes the embedded default corpus. Without --vocab_file a
vocabulary is learned from the articles, which are then read twice. Queries of
another text have words that no article has: give that text as --vocab_text.
--runner cuts on many machines, with Apache Beam; the blocks are the same.
"""

import itertools
import os

from bin import article_flags
from bin import beam_flags
from bin import launcher

from absl import flags

from realm_tf.corpus import files
from realm_tf.corpus import inputs
from realm_tf.records import corpus_building
from realm_tf.records import manifests
from realm_tf.records import shards
from realm_tf.text import wordpiece

_FORMAT = article_flags.define_format()
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New corpus directory.', required=True
)
_VOCAB_FILE = flags.DEFINE_string(
  'vocab_file', None, "Wordpieces, one per line; BERT's vocab.txt."
)
_VOCAB_SIZE = flags.DEFINE_integer(
  'vocab_size', 8000, 'Wordpieces to learn at most.', lower_bound=100
)
_VOCAB_TEXT = flags.DEFINE_multi_string(
  'vocab_text', [], 'JSONL files with "text" to learn wordpieces from too.'
)
_MAX_BLOCK_WORDPIECES = flags.DEFINE_integer(
  'max_block_wordpieces', 288, 'Upper bound of 3 + title + body.', lower_bound=8
)
_NUM_SHARDS = flags.DEFINE_integer(
  'num_shards', 4, 'TFRecord files.', lower_bound=1
)
_NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', os.cpu_count(), 'Processes that cut; no result depends on it.'
)
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace the corpus in --output_dir.'
)


def _tokenizer() -> wordpiece.WordpieceTokenizer:
  if _VOCAB_FILE.value:
    return wordpiece.WordpieceTokenizer.from_file(_VOCAB_FILE.value)
  articles = article_flags.read('Learning wordpieces', _FORMAT.value)
  texts = itertools.chain(
    (text for a in articles for text in (a.title, a.text)),
    files.read_texts(inputs.split(_VOCAB_TEXT.value)),
  )
  return wordpiece.WordpieceTokenizer(
    wordpiece.learn_vocabulary(texts, _VOCAB_SIZE.value)
  )


def _cut(tokenizer, tally):
  length = _MAX_BLOCK_WORDPIECES.value
  if not beam_flags.is_local():
    return beam_flags.cut(
      tokenizer, length, _FORMAT.value, _OUTPUT_DIR.value, tally
    )
  articles = article_flags.read('Cutting', _FORMAT.value, tally, plain=False)
  return corpus_building.build(
    articles, tokenizer, length, tally, _NUM_WORKERS.value
  )


def main(_):
  manifests.check_output(_OUTPUT_DIR.value, _OVERWRITE.value)
  tokenizer, tally = _tokenizer(), article_flags.new_tally()
  manifest = shards.write_encoded(
    _cut(tokenizer, tally),
    _OUTPUT_DIR.value,
    tokenizer,
    {'format': _FORMAT.value, **article_flags.description(tally)},
    _NUM_SHARDS.value,
    _MAX_BLOCK_WORDPIECES.value,
  )
  print(
    f'Wrote {manifest.num_blocks} blocks to {_OUTPUT_DIR.value}.'
    f'{tally.summary()}'
  )


if __name__ == '__main__':
  launcher.run(main)
