"""Evaluates a system on a question set, and writes metrics and predictions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
import dataclasses
import json
import os
import time
from typing import Any, Optional, Protocol

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf import errors
from realm_tf.answering import answer as answer_lib
from realm_tf.answering import answerer as answerer_lib
from realm_tf.answering import closed_book
from realm_tf.corpus import questions as questions_lib
from realm_tf.evaluation import comparison
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import refusing
from realm_tf.evaluation import retrieval_recall
from realm_tf.evaluation import summary
from realm_tf.index import searcher as searcher_lib
from realm_tf.records import block_table
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.text import answers as answers_lib

PREDICTIONS = comparison.PREDICTIONS
RANKS = comparison.RANKS
METRICS = 'metrics.json'
COMPARISON = 'comparison.jsonl'
SPAN_RANKS = 'span_ranks.jsonl'
RISK_COVERAGE = 'risk_coverage.jsonl'

# (queries, blocks of each query) -> answers.
Reading = Callable[
  [retriever_lib.Queries, searcher_lib.Neighbors], list[answer_lib.Answer]
]


class Judge(Protocol):
  """Adds to the fields of metrics.json.

  Attributes:
    num_blocks: Blocks of each question that it needs.
  """

  num_blocks: int

  def __call__(
    self, outcome: outcome_lib.Outcome, metrics: dict[str, Any]
  ) -> None: ...


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
    judge: Optional[Judge] = None,
  ) -> dict[str, Any]:
    """Answers at least one question; returns the fields of metrics.json.

    Writes predictions.jsonl and risk_coverage.jsonl, or ranks.jsonl without a
    reader, and comparison.jsonl with `other`, which needs a reader.
    """
    judged = (q.answers or q.is_impossible for q in questions)
    if self.read and not any(judged):
      # There is no reference to compare an answer with.
      only_found = dataclasses.replace(self, read=None)
      return only_found.run(questions, recall_at, output_dir, other, judge)
    if other and not self.read:
      raise errors.UserError(
        '--compare must come with a model that reads answers. Found no reader. '
        'Give a --model_dir from bin.finetune.'
      )
    depth = judge.num_blocks if judge else 0
    outcome = self._answer(
      questions, max(self.num_retrieved, depth, *recall_at)
    )
    metrics = summary.summarize(outcome, recall_at, self.seed)
    metrics['latency_batch_size'] = self.batch_size
    if judge:
      judge(outcome, metrics)
    tf.io.gfile.makedirs(output_dir)
    if self.read:
      _write_lines(os.path.join(output_dir, PREDICTIONS), outcome.rows())
      path = os.path.join(output_dir, RISK_COVERAGE)
      _write_lines(path, refusing.points(outcome.rated))
    elif outcome.has_answers:
      _write_lines(os.path.join(output_dir, RANKS), outcome.ranks())
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
      is_gold = retrieval_recall.is_of_gold_article(
        block_ids, self.read_article_ids, questions
      )
    # The first batch waits for compilation: it counts only if it is alone.
    warm = seconds[self.batch_size :] or seconds
    return outcome_lib.Outcome(
      questions,
      block_ids,
      np.concatenate([each.scores for each in found]),
      retrieval_recall.holds_answer(block_ids, self.matcher, questions),
      is_gold,
      answers,
      np.array(warm),
    )


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
  search = OpenQa(
    matcher,
    retriever_lib.Nothing(),
    read_article_ids=table.article_ids,
    seed=seed,
  )
  if not answerers:
    found = retrievers.open(retriever, table)
    return [dataclasses.replace(search, retriever=found)]
  return [_with_answerer(search, answerer) for answerer in answerers]


def _with_answerer(
  search: OpenQa, answerer: answerer_lib.Answerer | closed_book.ClosedBook
) -> OpenQa:
  if isinstance(answerer, closed_book.ClosedBook):
    book = answerer
    return dataclasses.replace(
      search,
      read_article_ids=None,
      read=lambda queries, _: book.answer(queries.texts),
    )
  return dataclasses.replace(
    search,
    retriever=answerer.retriever,
    queries=answerer.queries,
    read=answerer.read if answerer.reader else None,
    num_retrieved=answerer.num_compared if answerer.reader else 0,
  )


def write_metrics(
  metrics: Mapping[str, Any], output_dir: str
) -> dict[str, Any]:
  """Writes and returns metrics.json; `span_ranks` get a file of their own."""
  tf.io.gfile.makedirs(output_dir)
  metrics = dict(metrics)
  if ranks := metrics.pop('span_ranks', None):
    rows = [{'span_rank': rank or None} for rank in ranks]
    _write_lines(os.path.join(output_dir, SPAN_RANKS), rows)
  with tf.io.gfile.GFile(os.path.join(output_dir, METRICS), 'w') as file:
    file.write(json.dumps(metrics, indent=2) + '\n')
  return metrics


def write_together(
  eval_dirs: Mapping[str, str], output_dir: str
) -> dict[str, Any]:
  """Writes how several evaluations refuse, as of one, and by name.

  `eval_dirs` has the directory with predictions.jsonl of each name.
  """
  sets = {name: refusing.read(path) for name, path in eval_dirs.items()}
  curve = refusing.points(refusing.joined(sets.values()))
  _write_lines(os.path.join(output_dir, RISK_COVERAGE), curve)
  return write_metrics(refusing.measure_sets(sets), output_dir)


def _write_lines(path: str, rows: Iterable[dict[str, Any]]) -> None:
  with tf.io.gfile.GFile(path, 'w') as file:
    file.write('')  # GFile makes a file only on writing.
    for row in rows:
      file.write(json.dumps(row, ensure_ascii=False) + '\n')
