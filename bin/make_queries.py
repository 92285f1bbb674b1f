r"""Makes pre-training queries (X): sentences with their salient spans.

  python -m bin.make_queries --input=world --corpus_dir=Z --output_dir=X

Each query remembers the block of --corpus_dir that it came from, if any. The
vocabulary is the corpus's.
"""

import os

from bin import article_flags
from bin import config_flags
from bin import launcher

from absl import flags

from realm_tf.records import block_table
from realm_tf.records import query_building
from realm_tf.records import query_table
from realm_tf.rundir import manifests
from realm_tf.tagging import taggers
from realm_tf.text import wordpiece
from realm_tf.world import gazetteer
from realm_tf.world import inputs

flags.mark_flag_as_required('input')
_FORMAT = article_flags.define_format(
  [inputs.TAGGED], "Of the input; 'tagged' is JSONL with text, spans and id."
)
_TAGGER = flags.DEFINE_string(
  'tagger', 'rules', "Finds salient spans: 'rules', 'spacy:NAME' or 'bert:DIR'."
)
_MASKING = flags.DEFINE_enum(
  'masking',
  'salient',
  ['salient', 'random_span', 'random_token'],
  'What training masks; only salient masks need a tagger.',
)
_CORPUS_DIR = flags.DEFINE_string(
  'corpus_dir', None, 'Corpus directory of bin.make_blocks.', required=True
)
_OUTPUT_DIR = flags.DEFINE_string(
  'output_dir', None, 'New directory of queries.', required=True
)
_NUM_WORKERS = flags.DEFINE_integer(
  'num_workers', os.cpu_count(), 'Processes of spaCy; no result depends on it.'
)
_OVERWRITE = flags.DEFINE_boolean(
  'overwrite', False, 'Replace the queries in --output_dir.'
)


def _queries(tokenizer, table, counts):
  sentences = inputs.read_tagged_sentences(
    inputs.split(article_flags.INPUT.value),
    _FORMAT.value,
    config_flags.load().world,
    counts,
  )
  if sentences is not None:
    return query_building.queries_from_sentences(
      launcher.progress(sentences, 'Tokenizing', 'sentences'), tokenizer, table
    )
  tagger = None
  if _MASKING.value == 'salient':
    names, num_workers = gazetteer.country_names(), _NUM_WORKERS.value
    tagger = taggers.make(_TAGGER.value, names, num_workers)
  articles = article_flags.read('Tagging', _FORMAT.value, counts)
  return query_building.queries_from_articles(
    articles, tokenizer, tagger, table, counts
  )


def main(_):
  manifests.check_output(_OUTPUT_DIR.value, _OVERWRITE.value)
  table = block_table.BlockTable.open(_CORPUS_DIR.value, verify=True)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
    os.path.join(_CORPUS_DIR.value, 'vocab.txt')
  )
  counts = article_flags.new_counts()
  source = {'format': _FORMAT.value, 'tagger': _TAGGER.value}
  info = query_table.QueriesInfo(
    tokenizer.vocabulary_sha256,
    _MASKING.value,
    table.manifest['corpus_fingerprint'],
    {**source, **article_flags.description(counts)},
  )
  manifest = query_table.write_queries(
    _queries(tokenizer, table, counts), _OUTPUT_DIR.value, info, table.hashes
  )
  print(
    f'Wrote {manifest["num_queries"]} queries to {_OUTPUT_DIR.value}.'
    f'{counts.summary()}'
  )


if __name__ == '__main__':
  launcher.run(main)
