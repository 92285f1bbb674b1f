"""Reads BEIR folders (Thakur et al. 2021, https://arxiv.org/abs/2104.08663).

DIR/corpus.jsonl     {"_id", "title", "text"}
DIR/queries.jsonl    {"_id", "text"}
DIR/qrels/SPLIT.tsv  query-id, corpus-id, score, with a header
"""

from collections.abc import Iterator
import os

import tensorflow as tf

from realm_tf import errors
from realm_tf.corpus import json_records
from realm_tf.corpus import qrels as qrels_lib
from realm_tf.corpus import record_fields

PREFIX = 'beir:'


def corpus_file(item: str) -> str:
  """Returns the articles' file of 'beir:DIR'."""
  return _file(_parse(item)[0], 'corpus.jsonl')


def read_queries(item: str) -> Iterator[tuple[str, str, str]]:
  """Yields (query id, text, id of its most relevant article).

  Leaves out queries without a relevant article in the split ('beir:DIR@SPLIT',
  default 'test').
  """
  folder, split = _parse(item)
  qrels = qrels_lib.read(_file(folder, os.path.join('qrels', f'{split}.tsv')))
  best = {
    query: max(documents, key=documents.__getitem__)
    for query, documents in qrels.items()
    if max(documents.values()) > 0
  }
  for where, record in json_records.read_lines(_file(folder, 'queries.jsonl')):
    query, text = record.get('_id'), record.get('text')
    query = record_fields.as_id(where, query)
    if not query or not isinstance(text, str):
      raise errors.UserError(
        f'{where} must have "_id" and "text". Found {record!r:.60}. Correct it.'
      )
    if query in best:
      yield query, text, best[query]


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
