"""Retrieved blocks -> ranked articles -> R@k, MRR@10 and nDCG@10, TREC's file.

Relevance judgements (qrels) are about articles, so an article gets the score of
its best block. The package's recall@k is about answers, also called Success@k.
"""

import collections
from collections.abc import Callable, Sequence
import os
from typing import Optional

from absl import logging
import ir_measures
import numpy as np
import tensorflow as tf

from realm_tf import errors
from realm_tf import interfaces
from realm_tf.corpus import beir
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.qa import outcome as outcome_lib
from realm_tf.run import outputs

_DEPTH = 1000  # As of a TREC run.
_TAG = 'realm_tf'
_MEASURES = {'MRR@10': ir_measures.RR @ 10, 'nDCG@10': ir_measures.nDCG @ 10}

Ranking = list[tuple[str, float]]  # (article id, score), best first.


class Articles:
  """An evaluator of ranked articles; also writes a TREC run.

  Yields R@k, the share of relevant articles among the first k, MRR@10 and
  nDCG@10, as trec_eval, of the questions that the qrels judge.

  Attributes:
    num_blocks: Blocks that are ranked as articles. Ten may be of one article,
      so they are more than any rank that counts.

  Raises UserError if qrels do not fit the questions or the corpus, or if an id
  does not fit a TREC run.
  """

  num_blocks = _DEPTH

  def __init__(
    self,
    qrels: Optional[str],
    trec_run: Optional[str],
    questions: Sequence[questions_lib.Question],
    table: block_table.BlockTable,
    recall_at: Sequence[int],
  ):
    self._table, self._trec_run = table, trec_run
    self._measures = {f'R@{k}': ir_measures.R @ k for k in recall_at}
    self._measures |= _MEASURES
    judged = beir.read_qrels(qrels) if qrels else {}
    self._ids = query_ids(questions, judged)
    self._named = {q.question_id for q in questions}
    self._qrels = {n: judged[n] for n in self._ids if n in judged}
    if judged:
      relevant = beir.relevant(judged, self._ids)
      block_table.check_article_ids(relevant, table, '--qrels')
    for name in [*self._ids, *table.all_article_ids()] if trec_run else []:
      if len(name.split()) != 1:
        raise errors.UserError(
          'A TREC run must have ids of questions and articles without spaces. '
          f'Found {name!r}. Change it, or leave out --trec_run.'
        )

  def __call__(self, outcome: outcome_lib.Outcome) -> interfaces.Values:
    ranked = rank_articles(outcome, self._table.article_ids)
    ranked_by_id = dict(zip(self._ids, ranked, strict=True))
    self._leave_out_own(ranked_by_id)
    if self._trec_run:
      tf.io.gfile.makedirs(os.path.dirname(self._trec_run) or '.')
      lines = [
        f'{query} Q0 {article} {rank} {score!r} {_TAG}\n'
        for query, ranking in ranked_by_id.items()
        for rank, (article, score) in enumerate(ranking, 1)
      ]
      outputs.write_text(self._trec_run, ''.join(lines))
    if not self._qrels:
      return
    run = {query: dict(ranking) for query, ranking in ranked_by_id.items()}
    values = ir_measures.iter_calc(self._measures.values(), self._qrels, run)
    found = {(each.measure, each.query_id): each.value for each in values}
    for name, each in self._measures.items():  # 0 without a ranking.
      rows = [found.get((each, query), 0.0) for query in self._qrels]
      yield name, np.array(rows)

  def _leave_out_own(self, ranked: dict[str, Ranking]) -> None:
    """Leaves a question that is an article out of its own ranking.

    BEIR does so in ArguAna and Quora, unless the qrels judge the pair.
    """
    own = [
      name
      for name, judged in self._qrels.items()
      if name in self._named - judged.keys() and name in dict(ranked[name])
    ]
    for name in own:
      ranked[name] = [pair for pair in ranked[name] if pair[0] != name]
    if own:
      logging.warning(
        '%d of %d questions are articles of the same id, such as %r: each is '
        'left out of its own ranking, as BEIR does.',
        *(len(own), len(ranked), own[0]),
      )


def query_ids(
  questions: Sequence[questions_lib.Question],
  qrels: Optional[beir.Qrels] = None,
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
  num_other = len(qrels.keys() - set(ids))
  if num_other == len(qrels):
    raise errors.UserError(
      '--qrels must judge some of the questions, by their ids. Found '
      f'{next(iter(qrels))!r} there, and {ids[0]!r} as a question. Give the '
      'qrels of these questions.'
    )
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
