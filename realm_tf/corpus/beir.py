"""Reads judgements of relevance (qrels), in TREC's columns, and BEIR's folders.

BEIR (Thakur et al. 2021, https://arxiv.org/abs/2104.08663):

DIR/corpus.jsonl     {"_id", "title", "text"}
DIR/queries.jsonl    {"_id", "text"}
DIR/qrels/SPLIT.tsv  query-id, corpus-id, score, with a header
"""

from collections.abc import Iterable, Iterator
import os
import re

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import files
from realm_tf.corpus import record_fields
from realm_tf.corpus import records

PREFIX = 'beir:'
# Query id -> document id -> grade; documents above 0 are relevant.
Qrels = dict[str, dict[str, int]]
_GRADE = re.compile(r'[-+]?[0-9]{1,9}')
_HEADERS = ('score', 'relevance', 'rel', 'label', 'grade', 'judgment', 'qrel')


def corpus_file(item: str) -> str:
  """Returns the articles' file of 'beir:DIR'."""
  folder = item.removeprefix(PREFIX).partition('@')[0]
  return _file(folder, 'corpus.jsonl')


def read_queries(item: str) -> Iterator[tuple[str, dict[str, str]]]:
  """Yields (place, {'question', 'id', 'gold_id'}) of each judged query.

  'gold_id' is its most relevant article. Leaves out queries without a relevant
  article in the split ('beir:DIR@SPLIT', default 'test').
  """
  folder, _, split = item.removeprefix(PREFIX).partition('@')
  path = os.path.join('qrels', f'{split or "test"}.tsv')
  qrels = read_qrels(_file(folder, path))
  for where, record in records.read_json_lines(_file(folder, 'queries.jsonl')):
    query, text = record.get('_id'), record.get('text')
    query = record_fields.text_id(where, query)
    if not query or not isinstance(text, str):
      raise errors.UserError(
        f'{where} must have "_id" and "text". Found {record!r:.60}. Correct it.'
      )
    judged = qrels.get(query, {})
    best = max(judged, key=judged.__getitem__, default='')
    if best and judged[best] > 0:
      yield where, {'question': text, 'id': query, 'gold_id': best}


def _file(folder: str, name: str) -> str:
  path = os.path.join(folder, name)
  for candidate in (path, path + '.gz'):
    if tf.io.gfile.exists(candidate):
      return candidate
  raise errors.UserError(
    f"'{PREFIX}DIR' must be a BEIR folder, with corpus.jsonl, queries.jsonl "
    f'and qrels/SPLIT.tsv. Found no {path}. Check the path and the split.'
  )


def read_qrels(path: str) -> Qrels:
  """Reads judgements of relevance; a repeated one counts once.

  Columns are query id, an ignored one (only in TREC's files), document id and
  relevance, between tabs or spaces. The first line may be a header.
  """
  qrels: Qrels = {}
  found = files.find_files(path)
  if len(found) > 1:
    raise errors.UserError(
      f'{path} must be one file of judgements. Found {len(found)} files. Name '
      'one.'
    )
  for number, line in files.read_lines(found[0]):
    columns = line.strip().split('\t' if '\t' in line.strip() else None)
    columns = [column.strip() for column in columns]
    if not any(columns) or (number == 1 and columns[-1].lower() in _HEADERS):
      continue
    is_good = len(columns) in (3, 4) and all(columns[:1] + columns[-2:])
    if not is_good or not _GRADE.fullmatch(columns[-1]):
      raise errors.UserError(
        f'{found[0]}:{number} must be query id, document id and relevance, an '
        "integer of at most 9 digits, or TREC's four columns with an ignored "
        f'one before the document id. Found {line.strip()!r:.60}.'
      )
    query, document, grade = columns[0], columns[-2], int(columns[-1])
    before = qrels.setdefault(query, {}).setdefault(document, grade)
    if before != grade:
      raise errors.UserError(
        f'{found[0]}:{number} must agree with the lines before, which judge '
        f'article {document!r:.40} of query {query!r:.40} as {before}. Found '
        f'{grade}. Remove one.'
      )
  if not qrels:
    raise errors.UserError(
      f'{path} must have a judgement. Found none. Give others.'
    )
  return qrels


def relevant(qrels: Qrels, queries: Iterable[str]) -> set[str]:
  """Returns the documents that are relevant to any of `queries`."""
  judged = (qrels.get(query, {}) for query in queries)
  return {name for each in judged for name, grade in each.items() if grade > 0}
