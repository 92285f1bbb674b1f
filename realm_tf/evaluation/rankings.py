"""Retrieved blocks -> ranked articles -> R@k, MRR@10 and nDCG@10.

Relevance judgements (qrels) are about articles, so an article gets the score of
its best block. The package's recall@k is about answers, also called Success@k.
"""

import collections
from collections.abc import Callable, Mapping, Sequence
import math
from typing import Any, Optional

from absl import logging
import numpy as np

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import summary

CUT = 10  # Articles that count for MRR@10 and nDCG@10.
Qrels = Mapping[str, Mapping[str, int]]  # Question -> article -> relevance.
Ranking = list[tuple[str, float]]  # (article id, score), best first.


def query_ids(
  questions: Sequence[questions_lib.Question], qrels: Optional[Qrels] = None
) -> list[str]:
  """Returns the questions' ids; a question without an id gets its number.

  Raises UserError if two ids are the same, or `qrels` judges no question.
  """
  ids = [q.question_id or str(i) for i, q in enumerate(questions)]
  if len(set(ids)) < len(ids):
    ((twice, _),) = collections.Counter(ids).most_common(1)
    raise errors.UserError(
      f'Questions must have different ids, or none. Found {twice!r} twice. '
      'Change the "id" of one.'
    )
  if not qrels:
    return ids
  if not any(name in qrels for name in ids):
    raise errors.UserError(
      '--qrels must judge some of the questions, by their ids. Found '
      f'{next(iter(qrels))!r} there, and {ids[0]!r} as a question. Give the '
      'qrels of these questions.'
    )
  num_other = len(qrels.keys() - set(ids))
  if num_other:
    logging.warning(
      '--qrels judge %d questions; %d of them are not among --questions.',
      len(qrels),
      num_other,
    )
  return ids


def rank_articles(
  outcome: outcome_lib.Outcome,
  read_article_ids: Callable[[Sequence[int]], Sequence[str]],
) -> list[Ranking]:
  """Returns the ranked articles of each question's blocks, Q rankings.

  Tools order a run by its scores alone, and each tool breaks ties differently.
  So a tied score is lowered to the next float32 below its predecessor, the
  smallest difference that trec_eval sees.
  """
  rankings: list[Ranking] = []
  for ids, scores in zip(outcome.block_ids, outcome.scores, strict=True):
    is_block = ids >= 0
    articles: dict[str, np.float32] = {}
    names = read_article_ids(ids[is_block].tolist())
    for name, score in zip(names, np.float32(scores[is_block]), strict=True):
      articles[name] = max(articles.get(name, score), score)
    rankings.append([])
    last = np.float32(np.inf)
    for name in sorted(articles, key=lambda n: articles[n], reverse=True):
      last = min(articles[name], np.nextafter(last, np.float32(-np.inf)))
      rankings[-1].append((name, float(last)))
  return rankings


def add_metrics(
  metrics: dict[str, Any],
  qrels: Qrels,
  ids: Sequence[str],
  rankings: Sequence[Ranking],
  recall_at: Sequence[int],
  seed: int = 0,
) -> None:
  """Adds R@k, MRR@10 and nDCG@10, in percent, to the fields of metrics.json.

  Means are over the questions that `qrels` judges, at least one, as in
  trec_eval:

    R@k = relevant articles among the first k / relevant articles
    MRR@10 = 1 / rank of the first relevant article; 0 if that is above 10
    nDCG@10 = DCG@10 / DCG@10 of the best order,
    DCG@10 = sum over ranks i <= 10 of relevance_i / log2(i + 1)
  """
  judged = [
    (qrels[name], [article for article, _ in ranking])
    for name, ranking in zip(ids, rankings, strict=True)
    if name in qrels
  ]
  values = {
    f'R@{k}': [_recall(each, found[:k]) for each, found in judged]
    for k in recall_at
  }
  values[f'MRR@{CUT}'] = [_reciprocal_rank(*each) for each in judged]
  values[f'nDCG@{CUT}'] = [_ndcg(*each) for each in judged]
  means, ends = summary.means(
    {name: np.array(each) for name, each in values.items()}, seed
  )
  metrics |= {'num_with_qrels': len(judged), **means}
  metrics['intervals'] |= ends


def _recall(relevance: Mapping[str, int], found: Sequence[str]) -> float:
  relevant = {name for name, value in relevance.items() if value > 0}
  return len(relevant.intersection(found)) / max(1, len(relevant))


def _reciprocal_rank(
  relevance: Mapping[str, int], found: Sequence[str]
) -> float:
  ranks = (
    rank
    for rank, name in enumerate(found[:CUT], 1)
    if relevance.get(name, 0) > 0
  )
  return 1 / next(ranks, math.inf)


def _ndcg(relevance: Mapping[str, int], found: Sequence[str]) -> float:
  best = _dcg(sorted(relevance.values(), reverse=True))
  return _dcg([relevance.get(name, 0) for name in found]) / best if best else 0


def _dcg(gains: Sequence[int]) -> float:
  return sum(
    max(gain, 0) / math.log2(rank + 1)
    for rank, gain in enumerate(gains[:CUT], 1)
  )
