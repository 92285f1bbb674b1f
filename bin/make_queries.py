r"""Makes pre-training queries: sentences with their salient spans.

  python -m bin.make_queries --input='wiki/*.jsonl.gz' \
      --corpus_dir=runs/corpus --output_dir=runs/queries

Each query stores the id of its block in --corpus_dir, if any. --runner tags the
same queries on many machines, with Apache Beam.
"""

from . import article_flags
from . import beam_flags
from . import corpus_flags
from . import launcher

from absl import flags

from realm_tf.corpus import sources
from realm_tf.data import query_table
from realm_tf.training import taggers

flags.mark_flag_as_required('input')
article_flags.define_format(article_flags.TAGGED)
_TAGGER = launcher.existing_path(
  'tagger',
  "Salient spans: names by 'rules', 'spacy:NAME' or 'bert:DIR', of "
  "bin.train_tagger; 'terms', by the corpus's counts; or NAMES+terms.",
  default='rules+terms',
)
_MASKINGS = ['salient', 'random_span', 'random_token']
_MASKING = flags.DEFINE_enum(
  'masking', 'salient', _MASKINGS, 'Tokens to mask; only salient uses --tagger.'
)


def _queries(tokenizer, table, counts):
  tagger = _TAGGER.value if _MASKING.value == 'salient' else None
  if not beam_flags.is_local():
    tagging = corpus_flags.CORPUS_DIR.value, tagger
    return article_flags.on_beam('tag', tagging, counts)
  if flags.FLAGS.format == article_flags.TAGGED:
    inputs = article_flags.split(article_flags.INPUT.value)
    sentences = sources.read_tagged(inputs, counts)
    return query_table.queries_from_sentences(
      article_flags.progress(sentences, 'Tokenizing', 'sentences'),
      tokenizer,
      table,
    )
  if tagger:
    tagger = taggers.make(
      tagger, article_flags.NUM_WORKERS.value, lambda: taggers.terms_of(table)
    )
  articles = article_flags.read('Tagging', counts)
  return query_table.queries_from_articles(
    articles, tokenizer, tagger, table, counts
  )


def main(_):
  output_dir, counts = article_flags.begin()
  table = corpus_flags.open_table(verify=True)
  tokenizer = corpus_flags.tokenizer()
  manifest = query_table.write(
    _queries(tokenizer, table, counts),
    output_dir,
    table,
    masking=_MASKING.value,
    source={
      'tagger': _TAGGER.value,
      'examples': counts.examples,
      **article_flags.description(counts),
    },
  )
  print(
    f'Wrote {manifest["num_queries"]} queries to {output_dir}.'
    f'{counts.summary()}{query_table.describe_spans(counts)}'
  )


if __name__ == '__main__':
  launcher.run(main)
