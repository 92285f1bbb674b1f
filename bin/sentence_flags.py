"""Defines bin.evaluate's flags of masked sentences, and measures on these."""

from collections.abc import Sequence
from typing import Any, Optional

from . import config_flags
from . import corpus_flags

from absl import flags

from realm_tf.answering import answerer as answerer_lib
from realm_tf.evaluation import masked_sentences
from realm_tf.records import block_table
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.retrieval import word_search

QUERIES_DIR = flags.DEFINE_string(
  'queries_dir',
  None,
  'Queries, from bin.make_queries: measures how often the first blocks have '
  'the masked span of a sentence. Its own block does not count.',
)
_HELD_OUT_SHARE = flags.DEFINE_float(
  'held_out_share',
  0.0,
  "Share of articles whose sentences are measured: training's held_out.share. "
  '0 measures all sentences.',
  0.0,
  1.0,
)

flags.register_multi_flags_validator(
  ['queries_dir', 'sparse_weight'],
  lambda given: not (given['queries_dir'] and given['sparse_weight']),
  '--queries_dir measures a model or BM25, and not their sum: leave out '
  '--sparse_weight.',
)


def measure(
  table: block_table.BlockTable,
  answerer: Optional[answerer_lib.Answerer],
  retriever: str,
  recall_at: Sequence[int],
) -> dict[str, Any]:
  """Returns span recall for metrics.json.

  Args:
    table: The corpus.
    answerer: Model that searches, unless `retriever` searches by words.
    retriever: How blocks are found.
    recall_at: Each k of recall@k.
  """
  seed, config = flags.FLAGS.seed, config_flags.load()
  tokenizer = corpus_flags.tokenizer()
  is_model = retriever not in word_search.NAMES
  lengths = answerer.lengths if is_model else config.lengths
  if is_model:

    def search(query_ids, k):
      return answerer.retriever(query_ids, k).block_ids

  else:
    search = word_search.wordpiece_search(
      word_search.over_table(retriever, table), tokenizer
    )
  queries = query_table.QueryTable.open(QUERIES_DIR.value)
  queries.fit_corpus(table)
  masked = masked_sentences.mask(
    queries,
    table,
    _HELD_OUT_SHARE.value,
    masking.Masking(
      config.pretraining.masking,
      lengths.query_tokens - 2,
      lengths.max_masked,
      tokenizer.mask_id,
    ),
    seed,
  )
  return masked_sentences.measure(masked, table, search, recall_at, seed)
