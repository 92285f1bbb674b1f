"""Reads judgements of relevance (qrels), in TREC's columns, and BEIR's folders.

BEIR (Thakur et al. 2021, https://arxiv.org/abs/2104.08663):

DIR/corpus.jsonl     {"_id", "title", "text"}
DIR/queries.jsonl    {"_id", "text"}
DIR/qrels/SPLIT.tsv  query-id, corpus-id, score, with a header; also .jsonl
"""

from collections.abc import Iterable, Iterator
import csv
import os
import re

import tensorflow as tf

from realm_tf import errors
from realm_tf import input_files
from realm_tf.corpus import files
from realm_tf.corpus import record_fields
from realm_tf.corpus import records

PREFIX = 'beir:'
# Query id -> document id -> grade; documents above 0 are relevant.
Qrels = dict[str, dict[str, int]]
_GRADE = re.compile(r'[-+]?[0-9]{1,9}(\.0+)?')
_GRADES = ('score', 'relevance', 'rel', 'label', 'grade', 'judgment', 'qrel')
# Names in records of a judgement's query, document and grade.
_RECORD = (
  ('query-id', 'query_id', 'qid', 'question_id', 'query'),
  ('corpus-id', 'corpus_id', 'doc_id', 'docid', 'document_id', 'doc'),
  _GRADES,
)


def corpus_file(item: str) -> str:
  """Returns the articles' file of 'beir:DIR'."""
  folder, _ = input_files.split_of(item.removeprefix(PREFIX))
  return _file(folder, 'corpus.jsonl')


def read_queries(item: str) -> Iterator[tuple[str, dict[str, str]]]:
  """Yields (place, {'question', 'id', 'gold_id'}) of each judged query.

  'gold_id' is its most relevant article. Leaves out queries without a relevant
  article in the split ('beir:DIR@SPLIT', default 'test').
  """
  folder, split = input_files.split_of(item.removeprefix(PREFIX))
  path = os.path.join('qrels', split or 'test')
  qrels = read_qrels(_file(folder, f'{path}.tsv', f'{path}.jsonl'))
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


def _file(folder: str, *names: str) -> str:
  """Returns the first of some files that exists, perhaps compressed."""
  paths = [os.path.join(folder, name) for name in names]
  for candidate in (*paths, *(f'{path}.gz' for path in paths)):
    if tf.io.gfile.exists(candidate):
      return candidate
  raise errors.UserError(
    f"'{PREFIX}DIR' must be a BEIR folder, with corpus.jsonl, queries.jsonl "
    f'and qrels/SPLIT.tsv. Found no {paths[0]}. Check the path and the split; '
    'of CQADupStack name one folder.'
  )


def read_qrels(path: str) -> Qrels:
  """Reads judgements of relevance; a repeated one counts once.

  They are records, or columns: query id, an ignored one (only in TREC's files),
  document id and relevance, between tabs, spaces or commas. The first line may
  be a header.
  """
  qrels: Qrels = {}
  found = files.find_files(path)
  if len(found) > 1:
    raise errors.UserError(
      f'{path} must be one file of judgements. Found {len(found)} files. Name '
      'one.'
    )
  for where, columns in _judgements(found[0]):
    if not (
      len(columns) in (3, 4)
      and all(columns[:1] + columns[-2:])
      and _GRADE.fullmatch(columns[-1])
    ):
      raise errors.UserError(
        f'{where} must be query id, document id and relevance, an '
        "integer of at most 9 digits, or TREC's four columns with an ignored "
        f'one before the document id. Found {" ".join(columns)!r:.60}.'
      )
    query, document, grade = columns[0], columns[-2], int(float(columns[-1]))
    before = qrels.setdefault(query, {}).setdefault(document, grade)
    if before != grade:
      raise errors.UserError(
        f'{where} must agree with the lines before, which judge '
        f'article {document!r:.40} of query {query!r:.40} as {before}. Found '
        f'{grade}. Remove one.'
      )
  if not qrels:
    raise errors.UserError(
      f'{path} must have a judgement. Found none. Give others.'
    )
  return qrels


def _judgements(path: str) -> Iterator[tuple[str, list[str]]]:
  """Yields (place, columns) of records, as in MTEB, or of lines."""
  names = {name for field in _RECORD for name in field}
  format, _ = records.recognize(path, names)  # pylint: disable=redefined-builtin
  if format in (records.JSONL, records.PARQUET):
    for where, record in records.read(path, format, names):
      values = (record_fields.find(record, field) for field in _RECORD)
      yield where, ['' if v is None else str(v) for v in values]
    return
  for number, line in files.read_lines(path):
    line = line.strip()
    columns = line.split('\t' if '\t' in line else None)
    is_csv = len(columns) < 3 or columns[0].endswith(',') or line[0] == '"'
    if ',' in line and is_csv:
      columns = next(csv.reader([line], skipinitialspace=True))
    columns = [column.strip() for column in columns]
    is_header = number == 1 and columns[-1:] and columns[-1].lower() in _GRADES
    if any(columns) and not is_header:
      yield f'{path}:{number}', columns


def relevant(qrels: Qrels, queries: Iterable[str]) -> set[str]:
  """Returns the documents that are relevant to any of `queries`."""
  judged = (qrels.get(query, {}) for query in queries)
  return {name for each in judged for name, grade in each.items() if grade > 0}
