"""Evaluates a system on a question set, and writes metrics and predictions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import dataclasses
import json
import os
import time
from typing import Any, Optional

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf import errors
from realm_tf.corpus import questions as questions_lib
from realm_tf.data import block_table
from realm_tf.index import searcher as searcher_lib
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import closed_book
from realm_tf.qa import comparison
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import rankings
from realm_tf.qa import refusing
from realm_tf.qa import summary
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.text import answers as answers_lib

COMPARISON = 'comparison.jsonl'
RISK_COVERAGE = 'risk_coverage.jsonl'

# (queries, blocks of each query) -> answers.
Reading = Callable[
  [retriever_lib.Queries, searcher_lib.Neighbors], list[answer_lib.Answer]
]


@dataclasses.dataclass(frozen=True)
class OpenQa:
  """A system under evaluation.

  Attributes:
    matcher: Tells which blocks hold an answer.
    queries: Makes the retriever's queries from questions.
    read: Reads blocks; None measures recall only.
    num_retrieved: Number of blocks that `read` needs.
    read_article_ids: Maps block ids to their articles' ids, for gold recall.
  """

  matcher: answers_lib.AnswerMatcher
  retriever: retriever_lib.Retriever
  queries: Callable[[Sequence[str]], retriever_lib.Queries] = (
    retriever_lib.of_texts
  )
  read: Optional[Reading] = None
  num_retrieved: int = 0
  batch_size: int = 64
  read_article_ids: Optional[Callable[[Sequence[int]], Sequence[str]]] = None
  seed: int = 0
  clock: Callable[[], float] = time.perf_counter

  def run(
    self,
    questions: Sequence[questions_lib.Question],
    recall_at: Sequence[int],
    output_dir: str,
    other: Optional[comparison.Other] = None,
    articles: Optional[rankings.Articles] = None,
  ) -> dict[str, Any]:
    """Answers at least one question; returns the fields of metrics.json.

    Only probabilities and times are of impossible questions, too. Writes
    predictions.jsonl and risk_coverage.jsonl, or ranks.jsonl without a reader,
    and comparison.jsonl with `other`, which needs a reader.
    """
    judged = (q.answers or q.is_impossible for q in questions)
    if self.read and not any(judged):
      # There is no reference to compare an answer with.
      only_found = dataclasses.replace(self, read=None)
      return only_found.run(questions, recall_at, output_dir, other, articles)
    if other and not self.read:
      raise errors.UserError(
        '--compare must come with a model that reads answers. Found no reader. '
        'Give a --model_dir from bin.finetune.'
      )
    depth = articles.num_blocks if articles else 0
    outcome = self._answer(
      questions, max(self.num_retrieved, depth, *recall_at)
    )
    metrics: dict[str, Any] = {'num_questions': len(questions)}
    if self.read:
      metrics |= refusing.measure(refusing.of_outcome(outcome))
    median, slow = 1000 * np.quantile(outcome.seconds, [0.5, 0.95])
    metrics['latency_ms_median'] = float(median)
    metrics['latency_ms_p95'] = float(slow)
    metrics['latency_batch_size'] = self.batch_size
    metrics |= self._evaluate(outcome, recall_at, articles)
    tf.io.gfile.makedirs(output_dir)
    if self.read or outcome.has_answers:
      name = comparison.PREDICTIONS if self.read else comparison.RANKS
      _write_lines(os.path.join(output_dir, name), outcome.rows())
    if self.read:
      path = os.path.join(output_dir, RISK_COVERAGE)
      _write_lines(path, refusing.points(refusing.of_outcome(outcome)))
    if other:
      counts, rows = other.compare(outcome.predictions)
      metrics['comparison'] = {'other': other.directory, **counts}
      _write_lines(os.path.join(output_dir, COMPARISON), rows)
    return metrics

  def _answer(
    self, questions: Sequence[questions_lib.Question], num_retrieved: int
  ) -> outcome_lib.Outcome:
    found: list[searcher_lib.Neighbors] = []
    answers: list[answer_lib.Answer] = []
    seconds: list[float] = []
    with tqdm.tqdm(total=len(questions), unit='question') as progress:
      for start in range(0, len(questions), self.batch_size):
        batch = [q.question for q in questions[start : start + self.batch_size]]
        began = self.clock()
        queries = self.queries(batch)
        retrieved = self.retriever.retrieve(queries, num_retrieved)
        if self.read:
          answers += self.read(queries, retrieved)
        seconds += [(self.clock() - began) / len(batch)] * len(batch)
        found.append(retrieved)
        progress.update(len(batch))
    block_ids = np.concatenate([each.block_ids for each in found])
    is_gold = None
    if self.read_article_ids and any(q.gold_id for q in questions):
      is_gold = is_of_gold_article(block_ids, self.read_article_ids, questions)
    holds_answer = self.matcher.matches(
      block_ids, [q.answers for q in questions], [q.regex for q in questions]
    )
    # The first batch waits for compilation: it counts only if it is alone.
    warm = seconds[self.batch_size :] or seconds
    return outcome_lib.Outcome(
      questions,
      block_ids,
      np.concatenate([each.scores for each in found]),
      holds_answer,
      is_gold,
      answers,
      np.array(warm),
    )

  def _evaluate(
    self,
    outcome: outcome_lib.Outcome,
    recall_at: Sequence[int],
    articles: Optional[rankings.Articles],
  ) -> dict[str, Any]:
    """Returns means of all evaluators, intervals, and means by category."""
    possible = outcome.answerable()
    values = dict(outcome_lib.of_reader(possible))
    values |= outcome_lib.of_retriever(possible, recall_at)
    gold = dict(outcome_lib.of_gold_articles(possible, recall_at))
    ranked = dict(articles(outcome)) if articles else {}
    metrics: dict[str, Any] = {}
    intervals: dict[str, list[float]] = {}
    for count, each in (
      ('', values), ('num_with_gold_id', gold), ('num_with_qrels', ranked)
    ):  # fmt: skip
      found, ends = summary.means(each, self.seed)
      if count and each:
        metrics[count] = len(next(iter(each.values())))
      metrics |= found
      intervals |= ends
    shown = {
      name: value
      for name, value in values.items()
      if name in ('exact_match', 'f1') or name.startswith('recall@')
    }
    categories: summary.Categories = {}
    if possible.questions:
      categories = summary.by_category(possible.questions, shown)
    return {**metrics, 'intervals': intervals, 'categories': categories}


def is_of_gold_article(
  block_ids: np.ndarray,
  read_article_ids: Callable[[Sequence[int]], Sequence[str]],
  questions: Sequence[questions_lib.Question],
) -> np.ndarray:
  """Returns whether each block is from the article `gold_id`, bool [Q, K].

  No block is gold for a question without a `gold_id`.
  """
  ids, place = np.unique(block_ids, return_inverse=True)
  articles = np.full(ids.shape, None, object)
  articles[ids >= 0] = read_article_ids(ids[ids >= 0].tolist())
  gold = np.array([question.gold_id or '-' for question in questions], object)
  has_gold = np.array([bool(question.gold_id) for question in questions])
  found = articles[place.reshape(block_ids.shape)] == gold[:, None]
  return found.astype(bool) & has_gold[:, None]


def systems(
  retriever: str,
  table: block_table.BlockTable,
  answerers: Sequence[answerer_lib.Answerer | closed_book.ClosedBook],
  seed: int,
) -> list[OpenQa]:
  """Returns a system of `evaluate --retriever` for each answerer.

  An answerer retrieves, and reads if it has a reader. Without any, the only
  system searches.
  """
  matcher = answers_lib.AnswerMatcher(table.texts)
  if not answerers:
    search = retrievers.open(retriever, table)
    return [
      OpenQa(matcher, search, read_article_ids=table.article_ids, seed=seed)
    ]
  return [_system(matcher, table, answerer, seed) for answerer in answerers]


def _system(
  matcher: answers_lib.AnswerMatcher,
  table: block_table.BlockTable,
  answerer: answerer_lib.Answerer | closed_book.ClosedBook,
  seed: int,
) -> OpenQa:
  if isinstance(answerer, closed_book.ClosedBook):
    book = answerer
    return OpenQa(
      matcher,
      retriever_lib.Nothing(),
      read=lambda queries, _: book.answer(queries.texts),
      seed=seed,
    )
  return OpenQa(
    matcher,
    answerer.retriever,
    answerer.queries,
    answerer.read if answerer.reader else None,
    answerer.num_compared if answerer.reader else 0,
    read_article_ids=table.article_ids,
    seed=seed,
  )


def write_metrics(
  metrics: Mapping[str, Any], output_dir: str
) -> dict[str, Any]:
  """Writes and returns metrics.json; `span_ranks` get a file of their own."""
  tf.io.gfile.makedirs(output_dir)
  metrics = dict(metrics)
  if ranks := metrics.pop('span_ranks', None):
    rows = [{'span_rank': rank or None} for rank in ranks]
    _write_lines(os.path.join(output_dir, 'span_ranks.jsonl'), rows)
  path = os.path.join(output_dir, comparison.METRICS)
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write(json.dumps(metrics, indent=2) + '\n')
  return metrics


def write_together(
  eval_dirs: Mapping[str, str], output_dir: str
) -> dict[str, Any]:
  """Writes refusing metrics of several evaluations, pooled and for each.

  `eval_dirs` has the directory with predictions.jsonl of each name.
  """
  sets = {
    name: refusing.read(os.path.join(path, comparison.PREDICTIONS))
    for name, path in eval_dirs.items()
  }
  curve = refusing.points(refusing.joined(sets.values()))
  _write_lines(os.path.join(output_dir, RISK_COVERAGE), curve)
  return write_metrics(refusing.measure_sets(sets), output_dir)


def _write_lines(path: str, rows: Iterable[dict[str, Any]]) -> None:
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write('')  # GFile makes a file only on writing.
    for row in rows:
      file.write(json.dumps(row, ensure_ascii=False) + '\n')
