"""Span recall@k of masked sentences, for a corpus without questions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from realm_tf import config as config_lib
from realm_tf import errors
from realm_tf.data import block_table
from realm_tf.data import held_out
from realm_tf.data import masking
from realm_tf.data import query_table
from realm_tf.data import sampling
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import summary
from realm_tf.retrieval import candidates
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.text import wordpiece

_BATCH = 64
_MOST = 5000  # Sentences: recall's standard error is below a percentage point.


def mask(
  queries: query_table.QueryTable,
  table: block_table.BlockTable,
  share: float,
  how: masking.Masking,
  seed: int,
) -> dict[str, np.ndarray]:
  """Returns a batch of masked sentences from held-out articles.

  Args:
    queries: Sentences, after `fit_corpus`.
    share: Share of articles that is held out; 0 takes all sentences.
  """
  chosen = held_out.queries(queries, table, share)
  if share and not chosen.any():
    raise errors.UserError(
      'Some sentences must be from held-out articles. Found none among '
      f'{queries.num_queries} with a share of {share}. Raise '
      '--held_out_share.'
    )
  rows = held_out.choose(chosen if share else ~chosen, _MOST, seed)
  return masking.mask_batch(queries, rows, how, sampling.step_rng(seed, 0))


def measure(
  masked: dict[str, np.ndarray],
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  retriever: retriever_lib.Retriever,
  recall_at: Sequence[int],
  seed: int = 0,
) -> dict[str, Any]:
  """Returns fields of metrics.json: span recall@k in percent, intervals.

  `span_ranks` has the rank of each sentence's first right block, or 0.
  """
  depth, found = max(recall_at), []
  for start in range(0, len(masked['query_ids']), _BATCH):
    rows = slice(start, start + _BATCH)
    batch = {name: each[rows] for name, each in masked.items()}
    queries = retriever_lib.masked(batch['query_ids'], tokenizer)
    hits = retriever.retrieve(queries, depth + candidates.SPARE_HITS)
    found.append(candidates.find_spans(hits.block_ids, batch, table, depth)[1])
  has_span = np.concatenate(found)
  recall = outcome_lib.recall('span_recall', has_span, recall_at)
  means, ends = summary.means(dict(recall), seed)
  return {
    'num_sentences': len(has_span),
    **means,
    'span_intervals': ends,
    'span_ranks': outcome_lib.first_rank(has_span).tolist(),
  }


def measure_directory(
  queries_dir: str,
  table: block_table.BlockTable,
  tokenizer: wordpiece.WordpieceTokenizer,
  *,
  retriever: retriever_lib.Retriever,
  config: config_lib.ExperimentConfig,
  share: float,
  recall_at: Sequence[int],
  seed: int = 0,
) -> dict[str, Any]:
  """Masks and measures the sentences of bin.make_queries; as `measure`."""
  queries = query_table.QueryTable.open(queries_dir)
  queries.fit_corpus(table)
  how = masking.of_config(config, tokenizer.mask_id)
  return measure(
    mask(queries, table, share, how, seed),
    table,
    tokenizer,
    retriever=retriever,
    recall_at=recall_at,
    seed=seed,
  )
