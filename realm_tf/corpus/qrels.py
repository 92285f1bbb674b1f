"""Reads judgements of relevance (qrels), in TREC's columns or in BEIR's."""

from collections.abc import Iterable, Iterator
import re

from absl import logging

from realm_tf import errors
from realm_tf.corpus import files

# Query id -> document id -> grade; documents above 0 are relevant.
Qrels = dict[str, dict[str, int]]
_GRADE = re.compile(r'[-+]?[0-9]{1,9}')
_HEADERS = ('score', 'relevance', 'rel', 'label', 'grade', 'judgment', 'qrel')


def read(path: str) -> Qrels:
  """Reads judgements; a repeated one counts once.

  Columns are query id, an ignored one (only in TREC's files), document id and
  relevance, between tabs or spaces. The first line may be a header.
  """
  qrels: Qrels = {}
  first_line: dict[tuple[str, str], int] = {}
  num_again = 0
  for number, columns in _rows(path):
    query, document, grade = columns[0], columns[-2], int(columns[-1])
    if first_line.setdefault((query, document), number) == number:
      qrels.setdefault(query, {})[document] = grade
    elif qrels[query][document] == grade:
      num_again += 1
    else:
      raise errors.UserError(
        f'{path}:{number} must agree with line '
        f'{first_line[query, document]}, which judges article '
        f'{document!r:.40} of query {query!r:.40} as '
        f'{qrels[query][document]}. Found {grade}. Remove one.'
      )
  if not qrels:
    raise errors.UserError(
      f'{path} must have a judgement. Found none. Give others.'
    )
  if num_again:
    logging.warning('%s repeats %d judgements.', path, num_again)
  return qrels


def relevant(qrels: Qrels, queries: Iterable[str]) -> set[str]:
  """Returns the documents that are relevant to any of `queries`."""
  judged = (qrels.get(query, {}) for query in queries)
  return {name for each in judged for name, grade in each.items() if grade > 0}


def _rows(path: str) -> Iterator[tuple[int, list[str]]]:
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
    yield number, columns
