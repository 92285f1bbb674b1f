"""Writes retrieved blocks in the file formats of other tools.

TREC run   qid Q0 article-id rank score tag
DPR, FiD   [{"id", "question", "answers", "ctxs": [{"id", "title", "text",
           "score", "has_answer"}]}]
KILT       {"id", "input", "output": [{"answer", "provenance":
           [{"wikipedia_id", "title"}]}]}, one per line
"""

from collections.abc import Iterable, Iterator, Sequence
import json
import os
from typing import Any

import tensorflow as tf

from realm_tf import errors
from realm_tf.evaluation import outcome as outcome_lib
from realm_tf.evaluation import rankings as rankings_lib
from realm_tf.records import block_table

_TAG = 'realm_tf'


def check_trec_ids(ids: Iterable[str]) -> None:
  """Raises UserError for an id with a space: spaces separate columns."""
  for name in ids:
    if len(name.split()) != 1:
      raise errors.UserError(
        'A TREC run must have ids of questions and articles without spaces. '
        f'Found {name!r}. Change it, or leave out --trec_run.'
      )


def write_trec_run(
  path: str, ids: Sequence[str], rankings: Sequence[rankings_lib.Ranking]
) -> None:
  """Writes a line per question and article; `check_trec_ids` checks ids."""
  with _writing(path) as file:
    for query, ranking in zip(ids, rankings, strict=True):
      for rank, (article, score) in enumerate(ranking, 1):
        file.write(f'{query} Q0 {article} {rank} {score!r} {_TAG}\n')


def write_dpr_json(
  path: str,
  ids: Sequence[str],
  outcome: outcome_lib.Outcome,
  table: block_table.BlockTable,
) -> None:
  """Writes the blocks of each question, best first.

  A path that ends with .jsonl gets one object per line, for FiD. Any other path
  gets one array.
  """
  is_lines = path.endswith('.jsonl')
  before, between, after = ('', '', '') if is_lines else ('[\n', ',', ']\n')
  with _writing(path) as file:
    file.write(before)
    for row, question in enumerate(outcome.questions):
      record = {
        'id': ids[row],
        'question': question.question,
        'answers': list(question.answers),
        'ctxs': list(_contexts(outcome, row, table)),
      }
      is_last = row + 1 == len(outcome.questions)
      text = json.dumps(record, ensure_ascii=False)
      file.write(text + ('' if is_last else between) + '\n')
    file.write(after)


def write_kilt(
  path: str,
  ids: Sequence[str],
  outcome: outcome_lib.Outcome,
  rankings: Sequence[rankings_lib.Ranking],
  table: block_table.BlockTable,
) -> None:
  """Writes the prediction, '' without a reader, and the ranked articles.

  The articles' ids are Wikipedia's in a corpus from KILT or Wikipedia's dump.
  """
  with _writing(path) as file:
    for row, question in enumerate(outcome.questions):
      blocks = outcome.block_ids[row][outcome.block_ids[row] >= 0].tolist()
      titles = dict(zip(table.article_ids(blocks), table.titles(blocks)))
      output = {
        'answer': outcome.answers[row].prediction if outcome.answers else '',
        'provenance': [
          {'wikipedia_id': article, 'title': titles[article]}
          for article, _ in rankings[row]
        ],
      }
      record = {'id': ids[row], 'input': question.question, 'output': [output]}
      file.write(json.dumps(record, ensure_ascii=False) + '\n')


def _writing(path: str) -> tf.io.gfile.GFile:
  if os.path.dirname(path):
    tf.io.gfile.makedirs(os.path.dirname(path))
  file = tf.io.gfile.GFile(path, 'w')
  file.write('')  # GFile makes a file only on writing.
  return file


def _contexts(
  outcome: outcome_lib.Outcome, row: int, table: block_table.BlockTable
) -> Iterator[dict[str, Any]]:
  columns = outcome.block_ids[row] >= 0
  ids = outcome.block_ids[row][columns].tolist()
  for block_id, title, text, score, has_answer in zip(
    ids,
    table.titles(ids),
    table.texts(ids),
    outcome.scores[row][columns],
    outcome.holds_answer[row][columns],
    strict=True,
  ):
    yield {
      'id': str(block_id),
      'title': title,
      'text': text,
      'score': float(score),
      'has_answer': bool(has_answer),
    }
