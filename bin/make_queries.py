r"""Makes pre-training queries (X): sentences with their salient spans.

  python -m bin.make_queries --input=world --corpus_dir=/tmp/z \
      --output_dir=/tmp/x

Each query remembers the block of --corpus_dir that it came from, if any. The
vocabulary is the corpus's.
"""

import itertools
import os

from absl import flags
import tqdm

from bin import launcher
from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.corpus import salient_spans
from realm_tf.corpus import sources
from realm_tf.corpus import world
from realm_tf.corpus import world_facts
from realm_tf.records import block_table
from realm_tf.records import query_building
from realm_tf.records import query_table
from realm_tf.text import wordpiece

_INPUT = flags.DEFINE_list(
    'input', None, "Files, directories, globs, 'tfds:NAME', or 'world'.",
    required=True)
_FORMAT = flags.DEFINE_string(
    'format', 'auto', f'One of {", ".join(sources.FORMATS)}, world.')
_TAGGER = flags.DEFINE_string(
    'tagger', 'rules', "Finds salient spans: 'rules' or 'spacy:NAME'.")
_MASKING = flags.DEFINE_enum(
    'masking', 'salient', ['salient', 'random_span', 'random_token'],
    'What training masks; only salient masks need a tagger.')
_CORPUS_DIR = flags.DEFINE_string(
    'corpus_dir', None, 'Corpus directory of bin.make_blocks.', required=True)
_OUTPUT_DIR = flags.DEFINE_string(
    'output_dir', None, 'Directory of the queries.', required=True)
_MAX_ARTICLES = flags.DEFINE_integer(
    'max_articles', None, 'Stop after so many articles.', lower_bound=1)


def _from_world(tokenizer):
  config = config_lib.WorldConfig(seed=flags.FLAGS.seed)
  return query_building.queries_from_sentences(
      tqdm.tqdm(world.generate(config).sentences, unit=' sentences'), tokenizer)


def _from_articles(tokenizer, table):
  articles = itertools.islice(
      sources.read_articles(_INPUT.value, _FORMAT.value), _MAX_ARTICLES.value)
  tagger = None
  if _MASKING.value == 'salient':
    tagger = salient_spans.make_tagger(
        _TAGGER.value, world_facts.country_names())
  return query_building.queries_from_articles(
      tqdm.tqdm(articles, unit=' articles'), tokenizer, tagger, table)


def main(_):
  table = block_table.BlockTable.open(_CORPUS_DIR.value)
  tokenizer = wordpiece.WordpieceTokenizer.from_file(
      os.path.join(_CORPUS_DIR.value, 'vocab.txt'))
  is_world = _INPUT.value == ['world'] or _FORMAT.value == 'world'
  if is_world and _INPUT.value != ['world']:
    raise errors.UserError(
        f'--format=world needs --input=world; found {_INPUT.value}.')
  queries = (_from_world(tokenizer) if is_world
             else _from_articles(tokenizer, table))
  print(query_table.write_queries(queries, _OUTPUT_DIR.value))


if __name__ == '__main__':
  launcher.run(main)
