"""Reads questions: JSONL, ORQA, DPR, FiD, CuratedTREC, BEIR, datasets."""

from collections.abc import Iterator
import itertools
import os
from typing import Any, NamedTuple, Optional

from realm_tf import errors
from realm_tf.corpus import beir
from realm_tf.corpus import datasets
from realm_tf.corpus import files
from realm_tf.corpus import json_records
from realm_tf.text import timed_pattern

_ANSWERS = 'answers', 'answer', 'target'  # The latter are ORQA's and FiD's.


class Question(NamedTuple):
  """A question and the answers that count as right.

  Attributes:
    question: The question as asked.
    answers: Strings or regular expressions; none in BEIR.
    regex: Whether `answers` are regular expressions (CuratedTREC).
    question_id: Id in the file, or ''.
    gold_id: Id of the article that the question was written from, or ''.
  """

  question: str
  answers: tuple[str, ...]
  regex: bool = False
  question_id: str = ''
  gold_id: str = ''


def read_questions(
  path: str,
  max_answer_tokens: Optional[int] = None,
  may_lack_answers: bool = False,
) -> list[Question]:
  """Reads questions from a file, a glob, a BEIR folder or a dataset.

  A line, or an element of one array, is {"question": str, "answers": [str],
  "regex": optional bool, "id": optional, "gold_id": optional}; ORQA's "answer"
  and FiD's "target" are read too. As in ORQA, answers are regular expressions
  in a file with CuratedTrec in its name. A .tsv file has CuratedTREC's columns:
  id, kind, question, regular expression.

  Args:
    path: File, plain or compressed, 'beir:DIR' (`beir.read_queries`),
      'tfds:NAME' or 'hf_disk:DIR' (`datasets.read_questions`).
    max_answer_tokens: Leaves out longer answers, and questions that have no
      shorter one. NaturalQuestions-open uses 5 (Lee et al. 2019).
    may_lack_answers: Whether questions without answers, as in BEIR, will do.

  Raises:
    UserError: A missing file, a bad line, no question at all, or no answers.
  """
  if path.startswith(datasets.PREFIXES):
    questions = _read_dataset(path)
  elif path.startswith(beir.PREFIX):
    if not may_lack_answers:
      raise errors.UserError(
        f'Questions must have answers here; those of {path} have none: they '
        'only measure retrieval, with bin.evaluate. Give other questions.'
      )
    questions = (
      Question(text, (), question_id=query, gold_id=gold)
      for query, text, gold in beir.read_queries(path)
    )
  else:
    questions = itertools.chain.from_iterable(
      map(_read_file, files.find_files(path))
    )
  if max_answer_tokens:
    questions = filter(None, (_short(q, max_answer_tokens) for q in questions))
  questions = list(questions)
  if not questions:
    raise errors.UserError(
      f'{path} must have at least one question; none is left of it.'
    )
  return questions


def _read_file(path: str) -> Iterator[Question]:
  name = os.path.basename(path).lower()
  if '.tsv' in name:
    yield from itertools.starmap(_parse_columns, _lines(path))
    return
  for where, record in json_records.read(path):
    yield _parse(where, {'regex': 'curatedtrec' in name, **record})


def _lines(path: str) -> Iterator[tuple[str, str]]:
  for number, line in files.read_lines(path):
    if line.strip():
      yield f'{path}:{number}', line.rstrip('\r\n')


def _parse_columns(where: str, line: str) -> Question:
  columns = line.split('\t')
  if len(columns) != 4 or not all(columns[2:]):
    raise errors.UserError(
      f'{where} must have 4 columns, tabs between them: id, kind, question, '
      f'regular expression. Found {len(columns)}: {line!r:.60}.'
    )
  question_id, _, question, answer = columns
  _check_regex(where, answer)
  return Question(question, (answer,), True, question_id)


def _read_dataset(name: str) -> Iterator[Question]:
  for question, answers, question_id in datasets.read_questions(name):
    if answers:  # A test set may hide them.
      yield Question(question, tuple(answers), question_id=question_id)


def _short(question: Question, max_tokens: int) -> Optional[Question]:
  """Returns `question` with its short answers; None if it has none."""
  if question.regex:
    return question
  answers = [a for a in question.answers if len(a.split()) <= max_tokens]
  return question._replace(answers=tuple(answers)) if answers else None


def _check_regex(where: str, pattern: str) -> None:
  problem = timed_pattern.problem(pattern)
  if problem:
    raise errors.UserError(
      f'{where} must have a regular expression. Found {pattern!r:.40}: '
      f'{problem}. Correct it.'
    )


def _parse(where: str, record: dict[str, Any]) -> Question:
  question = record.get('question')
  if not isinstance(question, str) or not question.strip():
    raise errors.UserError(
      f"{where} must have 'question', a string; it has {question!r:.40}."
    )
  answers = next((record[key] for key in _ANSWERS if key in record), None)
  if isinstance(answers, str):
    answers = [answers]
  if (
    not isinstance(answers, list)
    or not answers
    or not all(isinstance(answer, str) for answer in answers)
  ):
    raise errors.UserError(
      f"{where} must have 'answers', a list of strings; it has {answers!r:.40}."
    )
  regex = record.get('regex', False)
  if not isinstance(regex, bool):
    raise errors.UserError(
      f"{where} must have true or false as 'regex'; it has {regex!r:.40}."
    )
  if regex:
    for answer in answers:
      _check_regex(where, answer)
  return Question(
    question, tuple(answers), regex, _id(record, 'id'), _id(record, 'gold_id')
  )


def _id(record: dict[str, Any], key: str) -> str:
  return '' if record.get(key) is None else str(record[key])
