"""Evaluates a system on a question set, and writes metrics and predictions."""

from collections.abc import Callable, Mapping, Sequence
import dataclasses
import json
import os
import time
from typing import Any, Optional

import numpy as np
import tensorflow as tf
import tqdm

from realm_tf import interfaces
from realm_tf import json_text
from realm_tf.config import names
from realm_tf.corpus import questions as questions_lib
from realm_tf.corpus import records
from realm_tf.data import block_table
from realm_tf.index import model_files
from realm_tf.model import path_scorer
from realm_tf.model import seq2seq
from realm_tf.qa import answer as answer_lib
from realm_tf.qa import answerer as answerer_lib
from realm_tf.qa import outcome as outcome_lib
from realm_tf.qa import rankings
from realm_tf.qa import refusing
from realm_tf.qa import summary
from realm_tf.retrieval import retriever as retriever_lib
from realm_tf.retrieval import retrievers
from realm_tf.run import outputs
from realm_tf.text import answers as answers_lib

_SPAN_RANKS = 'span_ranks.jsonl'
_FILES = (
  *(summary.METRICS, summary.PREDICTIONS, summary.RANKS),
  *(summary.RISK_COVERAGE, _SPAN_RANKS),
)
# Prefixes of the weights that a question uses.
_READER = ('reader_', 'span_reader/')
_QUERY_TOWER = ('shared_', 'query_')

# (queries, blocks of each query) -> answers.
Reading = Callable[
  [interfaces.Queries, interfaces.Neighbors], list[answer_lib.Answer]
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
  retriever: interfaces.Retriever
  queries: Callable[[Sequence[str]], interfaces.Queries] = (
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
    articles: Optional[rankings.Articles] = None,
  ) -> dict[str, Any]:
    """Answers at least one question; returns the fields of metrics.json.

    Only probabilities and times are of impossible questions, too. Writes
    predictions.jsonl and risk_coverage.jsonl, or ranks.jsonl without a reader.
    """
    # Without references, there is nothing to compare an answer with.
    is_read = self.read and any(q.answers or q.is_impossible for q in questions)
    depth = max(self.num_retrieved, articles.num_blocks if articles else 0)
    outcome = self._answer(
      questions, max(depth, *recall_at), self.read if is_read else None
    )
    metrics: dict[str, Any] = {'num_questions': len(questions)}
    tf.io.gfile.makedirs(output_dir)
    if is_read or outcome.has_answers:
      rows = outcome.rows()
      name = summary.PREDICTIONS if is_read else summary.RANKS
      json_text.write_lines(os.path.join(output_dir, name), rows)
    if is_read:
      rated = refusing.of_rows(rows)
      metrics |= refusing.measure(rated)
      curve = refusing.points(rated)
      json_text.write_lines(
        os.path.join(output_dir, summary.RISK_COVERAGE), curve
      )
    median, slow = 1000 * np.quantile(outcome.seconds, [0.5, 0.95])
    metrics['latency_ms_median'] = float(median)
    metrics['latency_ms_p95'] = float(slow)
    metrics['latency_batch_size'] = self.batch_size
    return metrics | self._evaluate(outcome, recall_at, articles)

  def _answer(
    self,
    questions: Sequence[questions_lib.Question],
    num_retrieved: int,
    read: Optional[Reading],
  ) -> outcome_lib.Outcome:
    found: list[interfaces.Neighbors] = []
    answers: list[answer_lib.Answer] = []
    seconds: list[float] = []
    with tqdm.tqdm(total=len(questions), unit='question') as progress:
      for start in range(0, len(questions), self.batch_size):
        batch = [q.question for q in questions[start : start + self.batch_size]]
        began = self.clock()
        queries = self.queries(batch)
        found.append(self.retriever.retrieve(queries, num_retrieved))
        if read:
          answers += read(queries, found[-1])
        seconds += [(self.clock() - began) / len(batch)] * len(batch)
        progress.update(len(batch))
    block_ids, scores = map(np.concatenate, zip(*found))
    is_gold = None
    if self.read_article_ids and any(q.gold_id for q in questions):
      is_gold = is_of_gold_article(block_ids, self.read_article_ids, questions)
    holds_answer = self.matcher.matches(
      block_ids, [q.answers for q in questions], [q.regex for q in questions]
    )
    # The first batch waits for compilation: it counts only if it is alone.
    warm = np.array(seconds[self.batch_size :] or seconds)
    return outcome_lib.Outcome(
      questions, block_ids, scores, holds_answer, is_gold, answers, warm
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

  No block is gold for a question without a `gold_id`. Blocks of an article that
  is the question itself, by its id, are not counted, as in `rankings`.
  """
  ids, place = np.unique(block_ids, return_inverse=True)
  articles = np.full(ids.shape, None, object)
  articles[ids >= 0] = read_article_ids(ids[ids >= 0].tolist())
  is_gold, is_own = (
    articles[place.reshape(block_ids.shape)]
    == np.array([[name or np.nan] for name in names], object)  # NaN is no id.
    for names in zip(*((q.gold_id, q.question_id) for q in questions))
  )
  order = np.argsort(is_own & ~is_gold, axis=1, kind='stable')
  return np.take_along_axis(is_gold, order, axis=1)


def systems(
  retriever: str,
  table: block_table.BlockTable,
  answerers: Sequence[answerer_lib.Answerer | answerer_lib.ClosedBook],
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
  return [
    OpenQa(matcher, retriever_lib.Nothing(), read=each.read, seed=seed)
    if isinstance(each, answerer_lib.ClosedBook)
    else OpenQa(
      matcher,
      each.retriever,
      each.queries,
      each.read if each.reader else None,
      each.num_compared if each.reader else 0,
      read_article_ids=table.article_ids,
      seed=seed,
    )
    for each in answerers
  ]


def costs(
  retriever: str,
  corpus_dir: str,
  model_dir: Optional[str],
  reader_dir: Optional[str] = None,
  index_dir: Optional[str] = None,
) -> dict[str, float]:
  """Returns the parameters used for a question, and megabytes of files read.

  They are columns of Table 1. Embed_doc and the head for masked words do not
  count: no question uses them. For BM25 and TF-IDF only the corpus counts:
  their index is never on disk.
  """
  searches = retriever in (names.MODEL, *names.BY_LINKS)
  used: dict[str, tuple[str, ...]] = {}  # Directory -> prefixes.
  num_bytes = 0
  if model_dir:
    reads = seq2seq.PREFIXES if retriever == names.NOTHING else _READER
    used[reader_dir or model_dir] = reads
  if model_dir and searches:
    path = (path_scorer.PREFIX,) if retriever == names.PATH else ()
    used[model_dir] = used.get(model_dir, ()) + _QUERY_TOWER + path
    newest = model_files.open_model(model_dir).newest_index
    num_bytes += _num_bytes(index_dir or (newest.path if newest else ''))
  arrays = [
    array
    for directory, prefixes in used.items()
    for name, array in model_files.open_model(directory).read_params().items()
    if name.startswith(prefixes)
  ]
  num_bytes += sum(array.nbytes for array in arrays)
  if retriever != names.NOTHING:
    num_bytes += _num_bytes(corpus_dir)
  return {
    'parameters': sum(array.size for array in arrays),
    'megabytes': num_bytes / 1e6,
  }


def _num_bytes(directory: str) -> int:
  return sum(
    tf.io.gfile.stat(os.path.join(folder, name)).length
    for folder, _, in_folder in tf.io.gfile.walk(directory)
    for name in in_folder
  )


def forget(output_dir: str) -> None:
  """Removes an earlier evaluation: this one may write fewer files."""
  outputs.remove(os.path.join(output_dir, name) for name in _FILES)


def write_metrics(
  metrics: Mapping[str, Any], output_dir: str
) -> dict[str, Any]:
  """Writes and returns metrics.json; `span_ranks` get a file of their own."""
  tf.io.gfile.makedirs(output_dir)
  metrics = dict(metrics)
  if ranks := metrics.pop('span_ranks', None):
    rows = [{'span_rank': rank or None} for rank in ranks]
    json_text.write_lines(os.path.join(output_dir, _SPAN_RANKS), rows)
  path = os.path.join(output_dir, summary.METRICS)
  json_text.replace(path, (json.dumps(metrics, indent=2) + '\n').encode())
  return metrics


def write_together(
  eval_dirs: Mapping[str, str], output_dir: str
) -> dict[str, Any]:
  """Writes refusing metrics of several evaluations, pooled and for each.

  `eval_dirs` has the directory with predictions.jsonl of each name.
  """
  sets = {
    name: refusing.of_rows(
      row
      for _, row in records.read_json_lines(
        os.path.join(folder, summary.PREDICTIONS)
      )
    )
    for name, folder in eval_dirs.items()
  }
  curve = refusing.points(refusing.joined(sets.values()))
  json_text.write_lines(os.path.join(output_dir, summary.RISK_COVERAGE), curve)
  return write_metrics(refusing.measure_sets(sets), output_dir)
