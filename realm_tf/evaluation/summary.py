"""Outcome of questions -> fields of metrics.json, in percent with intervals."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from realm_tf.evaluation import categories
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import refusing
from realm_tf.evaluation import retrieval_recall
from realm_tf.evaluation import uncertainty


def summarize(
  outcome: outcome_lib.Outcome, recall_at: Sequence[int], seed: int = 0
) -> dict[str, Any]:
  """Returns counts, means, intervals and the table by category.

  There must be a question. With fewer than k blocks, recall@k counts all. Only
  probabilities and times are of impossible questions, too.
  """
  metrics: dict[str, Any] = {'num_questions': len(outcome.questions)}
  if outcome.answers:
    metrics |= refusing.measure(outcome.rated)
  metrics |= _latency(outcome.seconds)
  outcome = outcome.answerable()
  if not outcome.questions:
    return {**metrics, 'intervals': {}, 'categories': {}}
  return metrics | _of_answerable(outcome, recall_at, seed)


def _of_answerable(
  outcome: outcome_lib.Outcome, recall_at: Sequence[int], seed: int
) -> dict[str, Any]:
  read = outcome.reading() if outcome.answers else {}
  found = {}
  if outcome.has_answers and (outcome.block_ids >= 0).any():
    found = recall('recall', outcome.holds_answer, recall_at)
  values = {**read, **found}
  if read and found:
    reranked = outcome.reranked(outcome.holds_answer)
    values |= recall('reranked_recall', reranked, recall_at)
  metrics: dict[str, Any]
  metrics, ends = means(values, seed)
  if outcome.is_gold is not None:
    is_gold = outcome.is_gold[outcome.has_gold]
    gold, gold_ends = means(recall('gold_recall', is_gold, recall_at), seed)
    metrics |= {'num_with_gold_id': len(is_gold), **gold}
    ends |= gold_ends
  metrics['intervals'] = ends
  shown = {name: read[name] for name in ('exact_match', 'f1') if name in read}
  metrics['categories'] = categories.by_category(
    outcome.questions, {**shown, **found}
  )
  return metrics


def recall(
  name: str, found: np.ndarray, recall_at: Sequence[int]
) -> dict[str, np.ndarray]:
  """Returns NAME@k -> whether any of the first k blocks is right, float [Q]."""
  return {
    f'{name}@{k}': retrieval_recall.within(found, k).astype(np.float64)
    for k in recall_at
  }


def means(
  values: Mapping[str, np.ndarray], seed: int
) -> tuple[dict[str, float], dict[str, list[float]]]:
  """Returns metric -> mean, and metric -> [lower end, upper end], in percent.

  `values` maps a metric to each question's value in [0, 1], [Q].
  """
  if not values:
    return {}, {}
  ends = uncertainty.bootstrap(np.stack(list(values.values()), axis=1), seed)
  return (
    {name: 100 * float(value.mean()) for name, value in values.items()},
    dict(zip(values, (100 * ends).tolist(), strict=True)),
  )


def _latency(seconds: np.ndarray) -> dict[str, float]:
  """Returns the milliseconds of a question: median and 95th percentile."""
  median, slow = 1000 * np.quantile(seconds, [0.5, 0.95])
  return {'latency_ms_median': float(median), 'latency_ms_p95': float(slow)}
