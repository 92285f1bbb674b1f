"""Parses questions of DPR, FiD, SQuAD, KILT, TriviaQA, FlashRAG and others."""

import ast
from collections.abc import Iterator, Mapping
import io
import re
import tokenize
from typing import Any, NamedTuple

from realm_tf import errors
from realm_tf.corpus import record_fields
from realm_tf.text import timed_pattern

_QUESTIONS = 'question', 'query', 'input'
# Our own key, then those used by ORQA, FiD, FlashRAG, KILT and PopQA.
_ANSWERS = (
  'answers answer target golden_answers output possible_answers'.split()
)
_IDS = 'id', '_id', 'qid', 'question_id', 'query_id', 'questionid'
# Keys of an answer that is an object.
_TEXTS = 'text', 'answer', 'value', 'aliases'
_GROUPS = 'data', 'paragraphs', 'qas'  # Lists of groups of questions.
_GOLD, _REGEX, _TITLE = 'gold_id', 'regex', 'title'
_IMPOSSIBLE = 'is_impossible'  # SQuAD 2.0's key.
NAMES = {*_QUESTIONS, *_ANSWERS, *_GROUPS, *_IDS, _GOLD, _REGEX, _IMPOSSIBLE}
_LIST = re.compile(r"""\s*\[(\s*['"].*)?\]\s*""", re.DOTALL)
_MAX_DEPTH = 3
_MAX_LITERAL = 1_000_000  # Characters of a Python list.


class Question(NamedTuple):
  """A question and its right answers.

  Attributes:
    answers: Empty for BEIR.
    regex: Whether `answers` are regular expressions (CuratedTREC).
    gold_id: Id of the article that the question was written from, or ''.
    title: Title of the question's record or group, as in SQuAD, or ''.
    is_impossible: Whether the corpus has no answer.
  """

  question: str
  answers: tuple[str, ...]
  regex: bool = False
  question_id: str = ''
  gold_id: str = ''
  title: str = ''
  is_impossible: bool = False


def parse(
  where: str, record: Mapping[str, Any], needs_answers: bool = True
) -> Iterator[Question]:
  """Yields the question of a record, or all questions in its lists.

  Null or empty answers are no error, as in SQuAD 2. A record without any key
  for answers is an error if `needs_answers`.
  """
  fields = record_fields.lower(record)
  group = next((name for name in _GROUPS if fields.get(name)), '')
  if group and fields.keys().isdisjoint(_QUESTIONS):
    parts = fields[group]
    if not isinstance(parts, list) or not all(
      isinstance(part, dict) for part in parts
    ):
      raise _error(where, f"'{group}', a list of objects", repr(parts)[:40])
    named = {_TITLE: fields[_TITLE]} if fields.get(_TITLE) else {}
    for number, part in enumerate(parts, 1):
      place = f'{where}, {group} {number}'
      yield from parse(place, {**named, **part}, needs_answers)
    return
  question = record_fields.find(fields, _QUESTIONS)
  if not isinstance(question, str) or not question.strip():
    raise _error(where, "'question', a string", repr(question)[:40])
  if needs_answers and fields.keys().isdisjoint(_ANSWERS):
    found = ', '.join(map(repr, list(record)[:9]))
    raise _error(where, "'answers', a list of strings", found)
  answers = _answers(where, fields)
  regex, impossible = (_flag(where, fields, n) for n in (_REGEX, _IMPOSSIBLE))
  if impossible and answers:
    found = repr(answers)[:40]
    raise _error(where, "no answers with 'is_impossible'", found)
  for answer in answers if regex else ():
    check_regex(where, answer)
  yield Question(
    question,
    tuple(answers),
    regex,
    record_fields.as_id(where, record_fields.find(fields, _IDS)),
    record_fields.as_id(where, fields.get(_GOLD)),
    title if isinstance(title := fields.get(_TITLE), str) else '',
    impossible,
  )


def _flag(where: str, fields: Mapping[str, Any], name: str) -> bool:
  value = fields.get(name) or False
  if not isinstance(value, bool):
    raise _error(where, f"true or false as '{name}'", repr(value)[:40])
  return value


def _error(where: str, must: str, found: str) -> errors.UserError:
  return errors.UserError(f'{where} must have {must}. Found {found}.')


def listed_answers(where: str, literal: str) -> list[str]:
  """Parses a list of answers that Python or JSON wrote, as in DPR's files."""
  try:
    if len(literal) > _MAX_LITERAL:
      raise ValueError('it is too long')
    value = ast.literal_eval(literal.strip())
    if not isinstance(value, list):
      raise ValueError('it is no list')
    ''.join(value).encode()  # Fails on other types and lone surrogates.
    tokens = tokenize.generate_tokens(io.StringIO(literal.strip()).readline)
    if sum(token.type == tokenize.STRING for token in tokens) == len(value):
      return value
    problem = 'a comma is missing between two strings'  # As NumPy prints lists.
  except (ValueError, TypeError, SyntaxError, MemoryError) as error:
    problem = str(error).partition('\n')[0][:60]
  except RecursionError:
    problem = 'it is nested too deeply'
  raise errors.UserError(
    f"{where} must have a list of answers, like ['one', 'two']. Found "
    f'{literal!r:.40}: {problem}. Correct it.'
  )


def check_regex(where: str, pattern: str) -> None:
  """Raises UserError unless `pattern` is a usable regular expression."""
  problem = timed_pattern.problem(pattern)
  if problem:
    raise errors.UserError(
      f'{where} must have a regular expression. Found {pattern!r:.40}: '
      f'{problem}. Correct it.'
    )


def _answers(where: str, fields: Mapping[str, Any]) -> list[str]:
  """Returns the distinct answers under the first key that has any."""
  for name in _ANSWERS:
    found = filter(str.strip, _texts(where, fields.get(name)))
    answers = list(dict.fromkeys(found))
    if answers:
      return answers
  return []


def _texts(where: str, value: Any, depth: int = 0) -> Iterator[str]:
  """Yields the strings in a string, a list or an object of answers."""
  if value is None:
    return
  if isinstance(value, str):
    is_list = not depth and _LIST.fullmatch(value)
    yield from listed_answers(where, value) if is_list else [value]
  elif isinstance(value, (list, dict)) and depth < _MAX_DEPTH:
    if isinstance(value, dict):
      fields = record_fields.lower(value)
      value = [fields.get(name) for name in _TEXTS]
    for each in value:
      yield from _texts(where, each, depth + 1)
  else:
    raise errors.UserError(
      f"{where} must have 'answers', a list of strings. Found {value!r:.40} "
      'in them. Correct it.'
    )
