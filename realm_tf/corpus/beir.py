"""Reads BEIR folders and judgements of relevance (qrels).

  DIR/corpus.jsonl     {"_id", "title", "text"}
  DIR/queries.jsonl    {"_id", "text"}
  DIR/qrels/SPLIT.tsv  query-id, corpus-id, score, with a header

Thakur et al. 2021 (https://arxiv.org/abs/2104.08663).
"""

from collections.abc import Iterator
import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import files

PREFIX = 'beir:'
# Query id -> document id -> relevance; at 0 and below it is not relevant.
Qrels = dict[str, dict[str, int]]


def corpus_file(item: str) -> str:
  """Returns the file of articles of 'beir:DIR'."""
  return _file(_parse(item)[0], 'corpus.jsonl')


def read_queries(item: str) -> Iterator[tuple[str, str, str]]:
  """Yields (query id, text, id of its most relevant article).

  Args:
    item: 'beir:DIR' or 'beir:DIR@SPLIT'; SPLIT is 'test' by default. Queries
      without a relevant article in the split are left out.

  Raises:
    UserError: A missing file or a bad line.
  """
  folder, split = _parse(item)
  qrels = read_qrels(_file(folder, os.path.join('qrels', f'{split}.tsv')))
  best = {
    query: max(documents, key=documents.get)
    for query, documents in qrels.items()
    if max(documents.values()) > 0
  }
  for where, record in files.read_json_lines(_file(folder, 'queries.jsonl')):
    query, text = record.get('_id'), record.get('text')
    if not isinstance(query, str) or not isinstance(text, str):
      raise errors.UserError(
        f'{where} must have "_id" and "text", strings. Found {record!r:.60}.'
      )
    if query in best:
      yield query, text, best[query]


def read_qrels(path: str) -> Qrels:
  """Reads judgements in TREC's columns or in BEIR's.

  Args:
    path: Lines of query id, a column that is ignored, document id, relevance;
      or of query id, document id, relevance, after a header.

  Raises:
    UserError: A missing file, a bad line, or no judgement at all.
  """
  qrels: Qrels = {}
  (path,) = files.find_files(path)
  for number, line in files.read_lines(path):
    columns = line.strip().split('\t' if '\t' in line else None)
    is_header = number == 1 and columns[-1:] == ['score']
    if not line.strip() or is_header:
      continue
    if len(columns) not in (3, 4) or not _is_integer(columns[-1]):
      raise errors.UserError(
        f'{path}:{number} must be query id, document id and relevance, an '
        "integer, or TREC's four columns with another before the document id. "
        f'Found {line.strip()!r:.60}.'
      )
    qrels.setdefault(columns[0], {})[columns[-2]] = int(columns[-1])
  if not qrels:
    raise errors.UserError(f'{path} must have a judgement; it has none.')
  return qrels


def _parse(item: str) -> tuple[str, str]:
  folder, _, split = item.removeprefix(PREFIX).partition('@')
  return folder, split or 'test'


def _file(folder: str, name: str) -> str:
  path = os.path.join(folder, name)
  for candidate in (path, path + '.gz'):
    if tf.io.gfile.exists(candidate):
      return candidate
  raise errors.UserError(
    f"'{PREFIX}DIR' must be a BEIR folder, with corpus.jsonl, queries.jsonl "
    f'and qrels/SPLIT.tsv. Found no {path}. Check the path and the split.'
  )


def _is_integer(text: str) -> bool:
  return text.removeprefix('-').isdecimal()
