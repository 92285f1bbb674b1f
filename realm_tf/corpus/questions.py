"""Reads questions from many tools' files, BEIR folders and datasets."""

import ast
from collections.abc import Iterable, Iterator, Mapping
import io
import json
import os
import re
import tokenize
from typing import Any, NamedTuple

from absl import logging
import tensorflow as tf

from realm_tf import errors
from realm_tf import json_text
from realm_tf.corpus import beir
from realm_tf.corpus import counts as counts_lib
from realm_tf.corpus import datasets
from realm_tf.corpus import files
from realm_tf.corpus import record_fields
from realm_tf.corpus import records
from realm_tf.text import answers as answers_lib

# Keys of an answer that is an object.
_TEXTS = 'text', 'answer', 'value', 'aliases'
_GOLD, _REGEX, _TITLE = 'gold_id', 'regex', 'title'
_IMPOSSIBLE, _ANSWERABLE = 'is_impossible', 'answerable'  # SQuAD's, MuSiQue's.
_NAMES = {
  *record_fields.QUESTION,
  *record_fields.ANSWERS,
  *record_fields.ALIASES,
  *record_fields.QUESTION_GROUPS,
  *record_fields.QUESTION_ID,
  *(_GOLD, _REGEX, _TITLE, _IMPOSSIBLE, _ANSWERABLE),
}
# Some articles have a text, and questions on it.
_OWN_NAMES = {*record_fields.QUESTION} - {'text'}
# MS MARCO's and QuAC's words for none.
_NO_ANSWER = 'No Answer Present.', 'CANNOTANSWER'
_FLAGS = {'true': True, 'false': False, '': None}
# Collections as Python, NumPy and JSON write them in a cell of CSV.
_COLLECTION = re.compile(
  r"""\s*(?:
    [\[{]\s*(?:(?:\{?['"]|np\.\w+\().*)?[\]}]
    | [\[{]\s*-?\d[\d.]*(?:[,\s]+-?\d[\d.]*)*,?\s*[\]}]
    | \(\s*(['"]).*\1,?\s*\)
    | (?:array|set|frozenset)\(.*\)
  )\s*""",
  re.DOTALL | re.VERBOSE,
)
# Functions that leave their argument: NumPy's numbers and strings, too.
_WRAPPERS = re.compile(r'array|(frozen)?set|str_|(int|float)\d+')
_MAX_DEPTH = 3
_MAX_LITERAL = 1_000_000  # Characters of a Python list.
_WRONG_LISTS = ValueError, TypeError, SyntaxError, MemoryError, RecursionError


class Question(NamedTuple):
  """A question and its right answers.

  Attributes:
    answers: Empty for BEIR.
    regex: Whether `answers` are regular expressions (CuratedTREC).
    gold_id: Id of the article that the question was written from, or ''.
    title: Title of the question's record or group, as in SQuAD, or ''.
    is_impossible: Whether the corpus has no answer.
    gold_block: Id of the block with the answer, or -1; only in memory, for
      questions made from a corpus.
  """

  question: str
  answers: tuple[str, ...]
  regex: bool = False
  question_id: str = ''
  gold_id: str = ''
  title: str = ''
  is_impossible: bool = False
  gold_block: int = -1


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
  if path.startswith(beir.PREFIX) and not may_lack_answers:
    raise errors.UserError(
      f'Questions must have answers here. Found none in {path}, which only '
      'measures retrieval, with bin.evaluate. Give other questions.'
    )
  counts = counts_lib.Counts()
  questions = []
  for where, record in _read(path):
    for question in parse(where, record, not may_lack_answers):
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


def _read(path: str) -> record_fields.Records:
  """Yields (place, record) of all files or of a dataset."""
  if path.startswith(datasets.PREFIXES):
    yield from datasets.read(path, _NAMES)
    return
  if path.startswith(beir.PREFIX):
    yield from beir.read_queries(path)
    return
  for file in files.find_files(path):
    kind, _ = records.recognize(file, _NAMES)
    found = records.read(file, kind, _NAMES) if kind else _read_columns(file)
    is_regex = 'curatedtrec' in os.path.basename(file).lower()
    for where, record in found:
      yield where, {_REGEX: True, **record} if is_regex else record


def _read_columns(path: str) -> record_fields.Records:
  """Yields the records of DPR's or of CuratedTREC's columns."""
  lines = (line for _, line in files.read_lines(path) if line.strip())
  if next(lines, '').count('\t') == 1:
    for where, row in records.rows(path, '\t'):
      _check_columns(where, row, 2, 'question, answers')
      answers = listed_answers(where, row[1])
      yield where, {'question': row[0], 'answers': answers}
    return
  for number, line in files.read_lines(path):  # Quotes have no meaning.
    if line.strip():
      where, row = f'{path}:{number}', line.rstrip('\r\n').split('\t')
      _check_columns(where, row, 4, 'id, kind, question, regular expression')
      question = {'question': row[2], 'answers': row[3:], 'id': row[0]}
      yield where, {**question, _REGEX: True}


def _check_columns(where: str, row: list[str], number: int, names: str) -> None:
  if len(row) != number or not all(row[-2:]):
    raise errors.UserError(
      f'{where} must have {number} columns, tabs between them: {names}. Found '
      f'{len(row)}: {" ".join(row)!r:.60}. Correct it, add a header, or give '
      'JSON.'
    )


def parse(
  where: str, record: Mapping[str, Any], needs_answers: bool = True
) -> Iterator[Question]:
  """Yields the question of a record, or all questions in its lists.

  Null or empty answers are no error, as in SQuAD 2. A record without any key
  for answers is an error if `needs_answers`.
  """
  for place, part in record_fields.expand(
    where, record, _OWN_NAMES, record_fields.QUESTION_GROUPS
  ):
    fields = record_fields.lower(records.as_object(place, part, _NAMES))
    yield _question(place, fields, needs_answers)


def _question(
  where: str, fields: Mapping[str, Any], needs_answers: bool
) -> Question:
  question = record_fields.find(fields, record_fields.QUESTION)
  if not isinstance(question, str) or not question.strip():
    raise _error(where, "'question', a string", repr(question)[:40])
  if needs_answers and fields.keys().isdisjoint(record_fields.ANSWERS):
    found = ', '.join(map(repr, list(fields)[:9]))
    raise _error(where, "'answers', a list of strings", found)
  regex, impossible = (_flag(where, fields, n) for n in (_REGEX, _IMPOSSIBLE))
  # MuSiQue keeps the answer that its paragraphs lack.
  lacks = not _flag(where, fields, _ANSWERABLE, True)
  answers = [] if lacks else _answers(where, fields)
  if impossible and answers:
    found = repr(answers)[:40]
    raise _error(where, "no answers with 'is_impossible'", found)
  for answer in answers if regex else ():
    problem = answers_lib.pattern_problem(answer)
    if problem:
      found = f'{answer!r:.40}: {problem}'
      raise _error(where, 'a regular expression', found)
  return Question(
    question,
    tuple(answers),
    regex,
    record_fields.text_id(
      where, record_fields.find(fields, record_fields.QUESTION_ID)
    ),
    record_fields.text_id(where, fields.get(_GOLD)),
    title if isinstance(title := fields.get(_TITLE), str) else '',
    impossible or lacks,
  )


def _flag(
  where: str, fields: Mapping[str, Any], name: str, default: bool = False
) -> bool:
  """Returns a flag, which CSV and pandas write as a word."""
  value = fields.get(name)
  if isinstance(value, str):
    value = _FLAGS.get(value.strip().lower(), value)
  if value is not None and not isinstance(value, bool):
    raise _error(where, f"true or false as '{name}'", repr(value)[:40])
  return default if value is None else value


def _error(where: str, must: str, found: str) -> errors.UserError:
  return errors.UserError(
    f'{where} must have {must}. Found {found}. Correct it.'
  )


def listed_answers(where: str, literal: str, kinds: Any = list) -> Any:
  """Parses a list of answers that Python or JSON wrote, as in DPR's files.

  `kinds` may allow tuples, sets, NumPy's arrays and objects.
  """
  try:
    value = _parsed(literal.strip())
    if not isinstance(value, kinds):
      raise ValueError('it is no list')
    # Fails on other types and lone surrogates.
    json.dumps(value, ensure_ascii=False).encode()
    return value
  except _WRONG_LISTS as error:
    problem = str(error).partition('\n')[0][:60]
    raise errors.UserError(
      f"{where} must have a list of answers, like ['one', 'two']. Found "
      f'{literal!r:.40}: {problem}. Correct it.'
    ) from error


def _parsed(literal: str) -> Any:
  """Returns a value; raises one of _WRONG_LISTS."""
  if len(literal) > _MAX_LITERAL:
    raise ValueError('it is too long')
  try:
    return json.loads(literal)
  except json.JSONDecodeError:  # Python's.
    tree = ast.parse(literal, mode='eval')
  values = [getattr(node, 'value', None) for node in ast.walk(tree)]
  tokens = tokenize.generate_tokens(io.StringIO(literal).readline)
  num_strings = sum(token.type == tokenize.STRING for token in tokens)
  if num_strings != sum(isinstance(value, str) for value in values):
    # NumPy prints lists so.
    raise ValueError('a comma is missing between two strings')
  return ast.literal_eval(_Plain().visit(tree))


class _Plain(ast.NodeTransformer):
  """Turns sets and NumPy's arrays into lists, in their order."""

  def visit_Set(self, node: ast.Set) -> ast.AST:  # pylint: disable=invalid-name
    return self.visit(ast.List(node.elts, ast.Load()))

  def visit_Call(self, node: ast.Call) -> ast.AST:  # pylint: disable=invalid-name
    name = getattr(node.func, 'attr', getattr(node.func, 'id', ''))
    if not _WRAPPERS.fullmatch(name):
      return node  # literal_eval refuses it.
    return self.visit((node.args or [ast.List([], ast.Load())])[0])


def _answers(where: str, fields: Mapping[str, Any]) -> list[str]:
  """Returns the distinct answers under the first key that has any, and aliases.

  MS MARCO's words for no answer are none.
  """
  for name in record_fields.ANSWERS:
    found = [*_texts(where, fields.get(name))]
    if any(text.strip() and text not in _NO_ANSWER for text in found):
      for alias in record_fields.ALIASES:
        found += _texts(where, fields.get(alias))
      kept = (t for t in found if t.strip() and t not in _NO_ANSWER)
      return list(dict.fromkeys(kept))
  return []


def _texts(where: str, value: Any, depth: int = 0) -> Iterator[str]:
  """Yields the strings in a string, a list or an object of answers."""
  if isinstance(value, str) and not depth and _COLLECTION.fullmatch(value):
    value = listed_answers(where, value, (list, tuple, dict, str))
  if isinstance(value, str):
    yield value
  elif isinstance(value, (list, tuple, dict)) and depth < _MAX_DEPTH:
    if isinstance(value, dict):
      fields = record_fields.lower(value)
      value = [fields.get(name) for name in _TEXTS]
    for each in value:
      yield from _texts(where, each, depth + 1)
  elif isinstance(value, (int, float)) and not isinstance(value, bool):
    if value == value:  # Not NaN, pandas' null.
      yield f'{value:.15g}' if isinstance(value, float) else str(value)
  elif value is not None:
    found = f'{value!r:.40} in them'
    raise _error(where, "'answers', a list of strings", found)


def write_questions(questions: Iterable[Question], path: str) -> None:
  """Writes questions as JSON lines that this module reads.

  A question without an answer is_impossible, as in SQuAD 2.0.
  """
  rows = (
    {
      'question': question.question,
      'answers': question.answers,
      **({} if question.answers else {_IMPOSSIBLE: True}),
      'id': question.question_id,
      _GOLD: question.gold_id,
      **({_REGEX: True} if question.regex else {}),
    }
    for question in questions
  )
  tf.io.gfile.makedirs(os.path.dirname(path))
  json_text.write_lines(path, rows)
