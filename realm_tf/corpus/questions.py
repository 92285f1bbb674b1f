"""Reads questions from many tools' files, BEIR folders and datasets."""

from collections.abc import Iterable, Iterator
import os
from typing import Any

from absl import logging

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import csv_records
from realm_tf.corpus import datasets
from realm_tf.corpus import files
from realm_tf.corpus import question_records
from realm_tf.corpus import record_files

Question = question_records.Question


def read_questions(
  path: str, may_lack_answers: bool = False, keep_impossible: bool = False
) -> list[Question]:
  """Reads questions from a file, a glob, a BEIR folder or a dataset.

  A record is {"question": str, "answers": [str], "regex": optional bool, "id":
  optional, "gold_id": optional, "is_impossible": optional bool}, or another
  tool's form. As in ORQA, answers are regular expressions in a file with
  CuratedTrec in its name. Columns without a header are DPR's (question, list of
  answers) or CuratedTREC's (id, kind, question, regular expression).

  Args:
    path: File or glob, 'beir:DIR', 'tfds:NAME' or 'hf_disk:DIR'.
    may_lack_answers: Whether to keep questions without answers, as in BEIR.
    keep_impossible: Whether to keep questions with `is_impossible`.
  """
  counts = counts_lib.Counts()
  questions = []
  for question in _read(path, may_lack_answers):
    is_kept = keep_impossible and question.is_impossible
    if question.answers or may_lack_answers or is_kept:
      questions.append(question)
    else:
      counts.drop('question without an answer')
  if not questions:
    raise errors.UserError(
      f'{path} must have at least one question with an answer. Found none.'
      f'{counts.summary()} Give other questions.'
    )
  if counts.left_out:
    logging.warning(
      '%s: %d questions.%s', path, len(questions), counts.summary()
    )
  return questions


def _read(path: str, may_lack_answers: bool) -> Iterator[Question]:
  if path.startswith(datasets.PREFIXES):
    records = datasets.read(path, question_records.NAMES)
    yield from _parsed(records, may_lack_answers)
  elif not path.startswith(beir.PREFIX):
    for file in files.find_files(path):
      yield from _read_file(file, may_lack_answers)
  elif may_lack_answers:
    for query, text, gold in beir.read_queries(path):
      yield Question(text, (), question_id=query, gold_id=gold)
  else:
    raise errors.UserError(
      f'Questions must have answers here. Found none in {path}, which only '
      'measures retrieval, with bin.evaluate. Give other questions.'
    )


def _read_file(path: str, may_lack_answers: bool) -> Iterator[Question]:
  names = question_records.NAMES
  kind, _ = record_files.recognize(path, names)
  if not kind:
    lines = (line for _, line in files.read_lines(path) if line.strip())
    is_dpr = next(lines, '').count('\t') == 1
    return (_read_dpr if is_dpr else _read_curated_trec)(path)
  records = record_files.read(path, kind, names)
  if 'curatedtrec' in os.path.basename(path).lower():
    records = ((where, {'regex': True, **record}) for where, record in records)
  return _parsed(records, may_lack_answers)


def _parsed(
  records: Iterable[tuple[str, dict[str, Any]]], may_lack_answers: bool
) -> Iterator[Question]:
  for where, record in records:
    yield from question_records.parse(where, record, not may_lack_answers)


def _read_dpr(path: str) -> Iterator[Question]:
  for where, row in csv_records.rows(path, '\t'):
    _check_columns(where, row, 2, 'question, answers')
    answers = question_records.listed_answers(where, row[1])
    yield Question(row[0], tuple(filter(str.strip, answers)))


def _read_curated_trec(path: str) -> Iterator[Question]:
  """Reads four columns without a header; quotes have no meaning."""
  for number, line in files.read_lines(path):
    if line.strip():
      where, row = f'{path}:{number}', line.rstrip('\r\n').split('\t')
      _check_columns(where, row, 4, 'id, kind, question, regular expression')
      question_records.check_regex(where, row[3])
      yield Question(row[2], (row[3],), True, row[0])


def _check_columns(where: str, row: list[str], number: int, names: str) -> None:
  if len(row) != number or not all(row[-2:]):
    raise errors.UserError(
      f'{where} must have {number} columns, tabs between them: {names}. Found '
      f'{len(row)}: {" ".join(row)!r:.60}. Correct it, add a header, or give '
      'JSON.'
    )
