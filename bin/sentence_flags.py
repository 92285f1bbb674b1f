"""Defines bin.evaluate's flags of masked sentences, and measures on these."""

from collections.abc import Sequence
import dataclasses
from typing import Any, Optional

from . import config_flags
from . import corpus_flags

from absl import flags

from realm_tf.answering import answerer as answerer_lib
from realm_tf.evaluation import masked_sentences
from realm_tf.records import block_table
from realm_tf.records import masking
from realm_tf.records import query_table
from realm_tf.retrieval import retrievers

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
  is_model = retriever not in retrievers.BY_WORDS
  if is_model:
    config = dataclasses.replace(config, lengths=answerer.lengths)
  queries = query_table.QueryTable.open(QUERIES_DIR.value)
  queries.fit_corpus(table)
  masked = masked_sentences.mask(
    queries,
    table,
    _HELD_OUT_SHARE.value,
    masking.of_config(config, tokenizer.mask_id),
    seed,
  )
  return masked_sentences.measure(
    masked,
    table,
    tokenizer,
    retriever=(
      answerer.retriever if answerer else retrievers.open(retriever, table)
    ),
    recall_at=recall_at,
    seed=seed,
  )
